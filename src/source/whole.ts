import { map, of, type Observable } from 'rxjs';
import { task, type Ask, type Page } from '../flow/index.js';
import { RecordBatch } from '../vector/index.js';
import { endWait } from './end.js';
import type { List, ListPass } from './passes.js';
import type { FirstRead, ReadRows } from './seen-rows.js';

/** A list in one answer, its only page. It is requested again, since it may have met a bad moment. */
export class WholeList implements List {
  readonly numbered = false;
  readonly counting = 'pages';
  readonly firstPage = 1;
  readonly concurrency = 1;
  readonly again = () => this.reading.reader.request({ purpose: 'probe' }).pipe(map(({ batch }) => batch));
  #names: readonly string[] = [];
  #looked = false;

  /** @param next The answer, until it is read. */
  constructor(
    readonly reading: FirstRead,
    private next: RecordBatch,
  ) {}

  get unsettled(): boolean {
    const { options, consistency } = this.reading;
    return options.lookAgain === true && consistency.mode !== 'off' && !this.#looked;
  }

  page(): Observable<RecordBatch> {
    const batch = this.next;
    this.next = RecordBatch.empty;
    return of(batch);
  }

  take(_page: Page, { names }: ReadRows): void {
    this.#names = names;
  }

  /** Requests an empty list once more, after a wait: it may be an outage. */
  confirm(): Observable<number | undefined> {
    return task(async (ask) => {
      if (this.reading.progress.rows > 0) return undefined;
      await endWait(this.reading, ask, 0);
      this.next = (await ask(this.reading.reader.request({ fresh: true }))).batch;
      return this.next.length > 0 ? 1 : undefined;
    });
  }

  lookAgain(): Observable<number | undefined> {
    this.#looked = true;
    return this.again().pipe(
      map((batch) => {
        const known = new Set(this.#names);
        if (this.reading.namesOf(batch).every((name) => known.has(name))) return undefined;
        this.next = batch;
        return 1;
      }),
    );
  }

  async check(ask: Ask): Promise<boolean> {
    this.reading.compare(1, await ask(this.again()));
    return true;
  }

  pass(): Observable<ListPass> {
    return this.again().pipe(
      map((batch) => ({
        page: (number) => of(number === 1 ? batch : RecordBatch.empty),
        confirm: () => of(undefined),
      })),
    );
  }
}
