import type { Observable } from 'rxjs';
import type { Collection } from '../../collections/index.js';
import { emptyTally, type Page } from '../../flow/index.js';
import { deduping } from '../../steps/index.js';
import type { Pipeline } from '../spec/pipeline.js';

/** The rows of a list as a run has them, of pages that were read without a check: where a run checks the list, one for each key, the first. */
export function asChecked({ consistency }: Pipeline, collection: Collection, pages$: Observable<Page>): Observable<Page> {
  if (consistency.mode === 'off' || !collection.paged) return pages$;
  return pages$.pipe(deduping(collection.key, {}, emptyTally()));
}
