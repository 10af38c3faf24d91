import { SourceError } from '../../core/index.js';
import { JsonText, readJson, type JsonItem, type JsonRecord } from '../../json/index.js';
import type { Answer } from '../../http/index.js';

/**
 * Reads a list answer: a JSON array of objects and nothing else.
 *
 * @param path For messages.
 * @throws {SourceError} `E_SOURCE_ANSWER`, kind `suspect`, whose message has status, size and key names, but never content.
 */
export function readList(path: string, answer: Answer): readonly JsonRecord[] {
  const value = parse(path, answer);
  if (!isList(value)) throw suspect(path, answer, `not an array but ${nameShape(value)}`);
  const stranger = value.find((item) => !isRecord(item));
  if (stranger !== undefined) throw suspect(path, answer, `an array that contains ${nameShape(stranger)}`);
  return value.filter(isRecord);
}

/** Reads the answer for a single record: an array of records, a bare record, or an answer that means "none". */
export function readSingle(path: string, answer: Answer): readonly JsonRecord[] {
  if (answer.body.length === 0) return [];
  const value = parse(path, answer);
  if (value === null) return [];
  if (!isList(value) && isRecord(value)) return singleRecord(path, answer, value);
  return readList(path, answer);
}

function singleRecord(path: string, answer: Answer, value: JsonRecord): readonly JsonRecord[] {
  const names = Object.keys(value);
  if (names.length === 0) return [];
  if (names.length <= 2 && names.some((name) => /^(?:error|errors|message)$/i.test(name))) throw suspect(path, answer, nameShape(value));
  return [value];
}

function parse(path: string, answer: Answer): JsonItem | readonly JsonItem[] {
  const value = readJson(answer.body);
  if (value === undefined) throw suspect(path, answer, 'not JSON');
  return value;
}

function isList(value: JsonItem | readonly JsonItem[]): value is readonly JsonItem[] {
  return Array.isArray(value);
}

function isRecord(value: JsonItem): value is JsonRecord {
  return typeof value === 'object' && value !== null && !(value instanceof JsonText);
}

/** Describes a value without its content: its kind, and the first keys of an object. */
export function nameShape(value: JsonItem): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return 'a string';
  if (value instanceof JsonText) return kindOf(value);
  const names = Object.keys(value)
    .slice(0, 5)
    .filter((name) => /^[\w .-]{1,40}$/.test(name));
  return names.length === 0 ? 'an object' : `an object with the keys ${names.join(', ')}`;
}

/** Describes a list within a list, or a value that is neither list nor record. */
function kindOf({ text }: JsonText): string {
  if (text.startsWith('[')) return 'an array';
  return text === 'true' || text === 'false' ? 'a boolean' : 'a number';
}

/** Creates the failure for an answer that is not what was requested. */
export function suspect(path: string, { status, body }: Answer, what: string): SourceError {
  return new SourceError('E_SOURCE_ANSWER', 'suspect', `${path}: HTTP ${status} with ${body.length} bytes: ${what}`, { status });
}
