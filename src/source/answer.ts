import { EMPTY, concat, defer, filter, map, of, switchMap, timer, type Observable } from 'rxjs';
import type { RecordBatch } from '../vector/index.js';
import { Drain, pageOf, task, type Page } from '../flow/index.js';
import type { Consistency } from './consistency.js';
import type { PagedList } from './paging.js';
import { endWaitOf, type ReadingOptions } from './options.js';
import { namesOf } from './seen.js';

/** What the one read of a list that comes in one answer knows of it. */
export class AnswerRead {
  readonly #drain = new Drain();
  /** What the rows are told apart by, in order. */
  #names: readonly string[] = [];

  constructor(
    private readonly list: PagedList,
    private readonly options: ReadingOptions,
    private readonly key: readonly string[],
    private readonly consistency: Consistency,
  ) {}

  /** The answer as a page, and as a second one the rows that a further look finds it missed. */
  pages(): Observable<Page> {
    return concat(
      this.#first(),
      defer(() => {
        this.options.onEnd?.(() => this.list.probe(1).pipe(map(({ batch }) => this.#missing(batch).length > 0)));
        return this.consistency.mode === 'off' ? EMPTY : this.#compare();
      }),
    ).pipe(map((page) => this.#drain.track(page)));
  }

  #first(): Observable<Page> {
    return task(async (ask) => {
      const { batch } = await ask(this.list.page(1));
      if (batch.length > 0) return batch;
      await ask(timer(endWaitOf(this.options)));
      return (await ask(this.list.again(1))).batch;
    }).pipe(
      filter((batch) => batch.length > 0),
      map((batch) => {
        this.#names = namesOf(batch, this.key);
        const page = pageOf(1, batch, { release: () => {} });
        this.options.onPage?.(page);
        return page;
      }),
    );
  }

  /** An answer is one moment; it is asked for again, since that moment may have been a bad one. */
  #compare(): Observable<Page> {
    const { consistency } = this;
    return task(async (ask) => {
      consistency.outcome = 'stable';
      consistency.counted = 'pages';
      if (this.options.lookAgain) await this.#drain.empty();
      const { batch } = await ask(this.list.probe(1));
      consistency.probes += 1;
      if (sameTexts(namesOf(batch, this.key), this.#names)) return undefined;
      consistency.drift.push('the list has changed');
      consistency.outcome = 'drifted';
      if (consistency.mode === 'check') return undefined;
      consistency.outcome = consistency.mode === 'prove' ? 'proven' : 'repaired';
      const missing = this.#missing(batch);
      consistency.repaired = missing.length;
      return missing.length === 0 ? undefined : pageOf(2, batch.take(missing), { release: () => {} });
    }).pipe(switchMap((page) => (page === undefined ? EMPTY : of(page))));
  }

  /** The rows of a later answer that the first one had not. */
  #missing(batch: RecordBatch): readonly number[] {
    const known = new Set(this.#names);
    return namesOf(batch, this.key).flatMap((name, row) => (known.has(name) ? [] : [row]));
  }
}

function sameTexts(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, index) => text === other[index]);
}
