import type { Collection } from '../collections/index.js';
import { itemAt, type Consistency } from '../core/index.js';
import { defaults } from '../options/index.js';
import { EMPTY, concat, defer, filter, map, of, switchMap, type Observable } from 'rxjs';
import { Drain, pageOf, task, type Page } from '../flow/index.js';
import type { PagedList } from './paging.js';
import type { ReadingOptions } from './options.js';
import { endWait } from './end.js';
import { namesOf } from './seen-rows.js';

/** The read of a list that comes in one answer, and its state. */
export class AnswerRead {
  readonly #drain = new Drain();
  /** Names of the rows, which identify them, in order. */
  #names: readonly string[] = [];

  constructor(
    private readonly list: PagedList,
    private readonly options: ReadingOptions,
    private readonly collection: Pick<Collection, 'name' | 'key'>,
    private readonly consistency: Consistency,
  ) {}

  /** Emits the answer as a page, then the rows missed, found by later requests, as further pages. */
  pages(): Observable<Page> {
    return concat(
      this.#first(),
      defer(() => {
        this.options.onEnd?.(() =>
          this.list.probe(1).pipe(map(({ batch }) => this.#missing(namesOf(batch, this.collection.key)).length > 0)),
        );
        return this.consistency.mode === 'off' ? EMPTY : this.#compare();
      }),
    ).pipe(map((page) => this.#drain.track(page)));
  }

  #first(): Observable<Page> {
    return task(async (ask) => {
      const { batch } = await ask(this.list.page(1));
      if (batch.length > 0) return batch;
      await endWait(this.collection.name, this.options, this.consistency)(ask, 0);
      return (await ask(this.list.again(1))).batch;
    }).pipe(
      filter((batch) => batch.length > 0),
      map((batch) => {
        this.#names = namesOf(batch, this.collection.key);
        const page = pageOf(1, batch, { release: () => {} });
        this.options.onPage?.(page);
        return page;
      }),
    );
  }

  /** An answer is a snapshot; it is requested again, since that moment may have been a bad one. */
  #compare(): Observable<Page> {
    const { consistency } = this;
    consistency.outcome = 'stable';
    consistency.counted = 'pages';
    return defer(() => (this.options.lookAgain ? this.#drain.empty() : of(undefined))).pipe(switchMap(() => this.#pass(1, 0)));
  }

  /**
   * Requests the list again.
   *
   * @param clean Number of consecutive answers without missed rows.
   */
  #pass(number: number, clean: number): Observable<Page> {
    const { consistency, options } = this;
    const { mode } = consistency;
    return this.list.probe(1).pipe(
      switchMap(({ batch }) => {
        consistency.probes += 1;
        const names = namesOf(batch, this.collection.key);
        const same = sameTexts(names, this.#names);
        const missing = this.#missing(names);
        if (!same && consistency.drift.length === 0) consistency.drift.push('the list has changed');
        if (mode === 'check') {
          consistency.outcome = same ? 'stable' : 'drifted';
          return EMPTY;
        }
        const cleanNow = missing.length === 0 ? clean + 1 : 0;
        consistency.repaired += missing.length;
        this.#names = [...this.#names, ...missing.map((row) => itemAt(names, row))];
        const found$ = missing.length === 0 ? EMPTY : of(pageOf(number + 1, batch.take(missing), { release: () => {} }));
        if (cleanNow >= (mode === 'prove' ? 2 : 1)) {
          const isStill = consistency.drift.length === 0;
          consistency.outcome = mode === 'prove' ? 'proven' : isStill ? 'stable' : 'repaired';
          return found$;
        }
        if (number >= (options.maxPasses ?? defaults.maxPasses)) {
          consistency.passes = number;
          consistency.outcome = 'unstable';
          return found$;
        }
        return concat(found$, this.#pass(number + 1, cleanNow));
      }),
    );
  }

  /** Returns the rows of a later answer that the first one lacked. */
  #missing(names: readonly string[]): readonly number[] {
    const known = new Set(this.#names);
    return names.flatMap((name, row) => (known.has(name) ? [] : [row]));
  }
}

function sameTexts(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((text, index) => text === other[index]);
}
