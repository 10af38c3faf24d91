import type { Served } from '../../collections/index.js';
import { segmentsOf, SourceError } from '../../core/index.js';
import { JsonText, valueAt } from '../../json/index.js';
import { nextLinkIn, type Answer } from '../../http/index.js';
import type { RecordBatch } from '../../vector/index.js';
import { followed, type Surroundings } from './next-link.js';
import { positionAt, type Position } from './position.js';

/** An answer's request, needed to find the next page. */
export interface Asking {
  readonly served: Served;
  readonly label: string;
  /** Position of the answer's page. */
  readonly position: Position;
  readonly limit: number;
  readonly surroundings: Surroundings;
}

/**
 * Returns the position of the next page.
 *
 * @returns `undefined` at the end of the list.
 * @throws {SourceError} `E_SOURCE_LINK` for a link that leads elsewhere, `E_SOURCE_CURSOR` for an invalid cursor; `E_SOURCE_ANSWER`, kind
 * `suspect`, if the answer does not indicate whether there is more.
 */
export function nextAfter(answer: Answer, batch: RecordBatch, asking: Asking): Position | undefined {
  const { served, label, position, limit, surroundings } = asking;
  const { paging, ends } = served;
  if (batch.length === 0 && ends.includes('empty_page')) return undefined;
  if (paging.scheme === 'link') {
    const link = paging.next === undefined ? nextLinkIn(answer.link ?? '') : textAt(answer, paging.next, label, 'link');
    return link === undefined ? undefined : followed(link, position, label, surroundings);
  }
  if (paging.scheme !== 'cursor') return undefined;
  const more = paging.more === undefined ? undefined : hasMore(answer, paging.more, label);
  if (more === false) return undefined;
  const cursor = paging.next === undefined ? lastOf(batch, paging.last) : textAt(answer, paging.next, label, 'cursor');
  if (cursor !== undefined) return positionAt(served, position.path, limit, cursor);
  if (more === true) throw new SourceError('E_SOURCE_CURSOR', 'suspect', `${label}: says that there is more, but has no cursor for it`);
  return undefined;
}

/** Returns a text or number in an answer; `undefined` for `null`, `false`, an empty text, and a missing value. */
function textAt({ body }: Answer, pointer: string, label: string, what: 'link' | 'cursor'): string | undefined {
  const value = valueAt(body, segmentsOf(pointer));
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  if (value.text === 'false') return undefined;
  if (what === 'cursor' && /^-?\d/.test(value.text)) return value.text;
  const code = what === 'link' ? 'E_SOURCE_LINK' : 'E_SOURCE_CURSOR';
  throw new SourceError(code, 'permanent', `${label}: the value at ${pointer} is not a ${what}`);
}

function hasMore({ body }: Answer, pointer: string, label: string): boolean {
  const value = valueAt(body, segmentsOf(pointer));
  if (value instanceof JsonText && (value.text === 'true' || value.text === 'false')) return value.text === 'true';
  throw new SourceError('E_SOURCE_ANSWER', 'suspect', `${label}: there is neither true nor false at ${pointer}`);
}

/** Returns the field of the last row that is the cursor of the next page. */
function lastOf(batch: RecordBatch, field = ''): string | undefined {
  if (batch.length === 0) return undefined;
  const value = batch.columns.get(field)?.value(batch.length - 1);
  return typeof value === 'string' && value !== '' ? value : undefined;
}
