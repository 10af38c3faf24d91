import type { Collection } from '../../collections/index.js';
import { JsonText, readJson, type JsonRecord } from '../../json/index.js';
import { dataError, linesOf } from './lines.js';
import { originalNames, type TextRow } from './rows.js';

/**
 * Reads the rows of a file with one JSON object per line, under the service's own names in the order of the line. A key may be one of those names or a column
 * name; any other key is kept. Values become strings: numbers as they are written, lists and objects as their JSON text without white space. A `null` is left
 * out, like a field that the service does not send. Blank lines are skipped.
 *
 * @throws {LeadstreamError} `E_DATA` with file and line for a line that is not a JSON object, or that names a field twice.
 */
export async function* ndjsonRows(file: string, collection: Collection): AsyncGenerator<TextRow> {
  const nameOf = originalNames(collection);
  for await (const { text, line } of linesOf(file)) {
    if (text.trim() === '') continue;
    const fields = new Map<string, string>();
    for (const [key, value] of Object.entries(recordAt(file, line, text))) {
      if (value === null) continue;
      const name = nameOf(key);
      if (fields.has(name)) throw dataError(file, line, `names the field ${name} twice`);
      fields.set(name, value instanceof JsonText ? value.text : value);
    }
    yield Object.fromEntries(fields);
  }
}

/** Reads the records of such a file unchanged: the JSON text of each. */
export async function* ndjsonRecords(file: string): AsyncGenerator<string> {
  for await (const { text, line } of linesOf(file)) {
    if (text.trim() === '') continue;
    recordAt(file, line, text);
    yield text.trim();
  }
}

function recordAt(file: string, line: number, text: string): JsonRecord {
  const value = readJson(Buffer.from(text));
  if (!isRecord(value)) throw dataError(file, line, 'is not a JSON object');
  return value;
}

function isRecord(value: ReturnType<typeof readJson>): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonText);
}
