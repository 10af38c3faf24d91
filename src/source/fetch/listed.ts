import type { Served } from '../../collections/index.js';
import { SourceError } from '../../core/index.js';
import { isJson, JsonText, placeOf, readJson, valueAt, without, type JsonRecord } from '../../json/index.js';
import type { Answer } from '../../http/index.js';
import { nameShape, suspect } from '../decode/records.js';

/**
 * Returns the list in an answer of a custom collection.
 *
 * @returns `undefined` if the answer is one of those declared to mean that there are no rows.
 * @throws {SourceError} `E_SOURCE_ROWS` and `E_SOURCE_ANSWER`, kind `suspect`.
 */
export function listIn(label: string, answer: Answer, { rows, ends }: Served): Uint8Array | undefined {
  const body = withoutMark(answer.body);
  if (body.length === 0 && ends.includes('no_content')) return undefined;
  if (body.length < 64) {
    const short = Buffer.from(body).toString('latin1').replaceAll(/\s/g, '');
    if ((short === '{}' && ends.includes('empty_object')) || (short === 'null' && ends.includes('null'))) return undefined;
  }
  if (rows.length === 0) return body;
  // In a truncated answer the list may be complete while the sign that there is more is missing.
  if (!isJson(body)) throw suspect(label, answer, 'not JSON');
  const place = placeOf(body, rows);
  const isNothing = place === undefined || valueAt(place, []) === null;
  if (isNothing && ends.includes('no_rows')) return undefined;
  if (place?.[0] === openList) return place;
  const pointer = `/${rows.join('/')}`;
  const found = readJson(place ?? body);
  const shape = found === undefined || Array.isArray(found) ? '' : ` but ${nameShape(found as Exclude<typeof found, readonly unknown[]>)}`;
  const message = `there is no list at ${pointer}${place === undefined ? `; the response is ${shape.slice(5)}` : shape}`;
  throw new SourceError('E_SOURCE_ROWS', 'suspect', `${label}: HTTP ${answer.status} with ${answer.body.length} bytes: ${message}`);
}

const openList = 0x5b;

/** Copies nested values to separate names, and removes them from their container unless that is declared as a whole. */
export function flattened(records: readonly JsonRecord[], { nested, opened }: Served): readonly JsonRecord[] {
  if (nested.size === 0) return records;
  return records.map((record) => {
    const flat = Object.assign(Object.create(null) as Record<string, JsonRecord[string]>, record);
    for (const [name, [outer = '', ...inner]] of nested) {
      const container = record[outer];
      const value = container instanceof JsonText ? valueAt(Buffer.from(container.text), inner) : undefined;
      // A member whose name happens to equal the pointer.
      if (record[name] !== undefined) flat[`/${name}`] = record[name];
      delete flat[name];
      if (value !== undefined) flat[name] = value;
      if (opened.has(outer)) takeOut(flat, outer, inner);
    }
    return flat;
  });
}

function takeOut(flat: Record<string, JsonRecord[string]>, outer: string, inner: readonly string[]): void {
  const rest = flat[outer];
  if (!(rest instanceof JsonText)) return;
  const text = without(rest.text, inner);
  if (text === undefined) delete flat[outer];
  else if (text !== rest.text) flat[outer] = new JsonText(text);
}

function withoutMark(body: Uint8Array): Uint8Array {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body;
}
