import type { Observable } from 'rxjs';
import type { Collection } from '../../collections/index.js';
import { emptyTally, type Page } from '../../flow/index.js';
import { deduping } from '../../steps/index.js';
import type { Pipeline } from '../spec/pipeline.js';

/** Returns the rows of a list as a run would see them, from pages read without a check: if a run checks the list, only the first row of each key. */
export function asChecked({ consistency }: Pipeline, collection: Collection, pages$: Observable<Page>): Observable<Page> {
  if (consistency.mode === 'off' || !collection.paged) return pages$;
  return pages$.pipe(deduping(collection.key, {}, emptyTally()));
}
