import type { Collection } from '../../collections/index.js';
import { dataError, linesOf } from './lines.js';
import { originalNames, type TextRow } from './rows.js';

/**
 * The rows of a file with one JSON object per line, under the service's own names in the order of the line. Keys may
 * be those names or columns; a key that is neither is kept. Values become strings: numbers and flags as JSON writes
 * them, lists and objects as their JSON text. A `null` is left out, as the service does with a field that it does
 * not send. Blank lines are skipped.
 *
 * @throws {LeadstreamError} `E_DATA` with file and line for a line that is no JSON object, names a field twice, or
 * holds a whole number that JavaScript would round.
 */
export async function* ndjsonRows(file: string, collection: Collection): AsyncGenerator<TextRow> {
  const nameOf = originalNames(collection);
  for await (const { text, line } of linesOf(file)) {
    if (text.trim() === '') continue;
    const fields = new Map<string, string>();
    for (const [key, value] of Object.entries(objectAt(file, line, text))) {
      if (value === null) continue;
      const name = nameOf(key);
      if (fields.has(name)) throw dataError(file, line, 'names a field twice');
      if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
        throw dataError(file, line, 'holds a whole number beyond 2^53; write it as a string');
      }
      fields.set(name, typeof value === 'string' ? value : JSON.stringify(value));
    }
    yield Object.fromEntries(fields);
  }
}

function objectAt(file: string, line: number, text: string): object {
  const value = parseAt(file, line, text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw dataError(file, line, 'is no JSON object');
  return value;
}

function parseAt(file: string, line: number, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw dataError(file, line, 'is no JSON object');
  }
}
