import { endForms, type Collection, type EndForm, type Served } from '../../collections/index.js';
import { SourceError } from '../../core/index.js';
import type { Answer } from '../../http/index.js';
import type { JsonRecord } from '../../json/index.js';
import { batchFromRows } from '../../vector/index.js';
import { Decoder } from '../decode/decoder.js';
import { readList } from '../decode/records.js';
import { flattened, listIn } from './listing.js';
import { nextAfter, type Asking } from './next-page.js';

/** A page of a custom collection: its records as received, and the position of the next page. */
export interface DeclaredPage {
  readonly records: readonly JsonRecord[];
  readonly next: Asking['position'] | undefined;
}

/**
 * Reads an answer according to its declaration, as a run does.
 *
 * @throws {SourceError} The failures of a run: `E_SOURCE_ROWS`, `E_SOURCE_ANSWER`, `E_SOURCE_LINK` and `E_SOURCE_CURSOR`.
 */
export function declaredPage(collection: Collection, answer: Answer, asking: Asking): DeclaredPage {
  const { served, label } = asking;
  const body = answer.status === 404 && served.ends.includes('not_found') ? undefined : listIn(label, answer, served);
  const records = body === undefined ? [] : flattened(readList(label, { status: answer.status, body }), served);
  const batch = batchFromRows(new Decoder(collection).decode(records));
  return { records, next: nextAfter(answer, batch, asking) };
}

/** Returns the `end` to declare so that an answer means there are no rows; `undefined` if no declaration would. */
export function endFormOf(answer: Answer, served: Served): EndForm | undefined {
  if (answer.status === 404) return 'not_found';
  return endForms.find((form) => {
    try {
      return listIn('', answer, { ...served, ends: [form] }) === undefined;
    } catch (error) {
      if (error instanceof SourceError) return false;
      throw error;
    }
  });
}
