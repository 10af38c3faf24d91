import { SourceError } from '../errors.js';
import type { Answer } from './attempt.js';

/** A JSON object as it came. */
export type RawRecord = Readonly<Record<string, unknown>>;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads a list answer: a JSON array of objects and nothing else.
 *
 * @param path For messages.
 * @throws {SourceError} `E_SOURCE_ANSWER`, kind `suspect`, that tells status, size and key names, never content.
 */
export function readList(path: string, answer: Answer): readonly RawRecord[] {
  const value = parse(path, answer);
  if (!Array.isArray(value)) throw suspect(path, answer, `not an array but ${nameShape(value)}`);
  const stranger: unknown = value.find((item) => !isRecord(item));
  if (stranger !== undefined) throw suspect(path, answer, `an array that contains ${nameShape(stranger)}`);
  return value.filter(isRecord);
}

/** Reads the answer to a single read: an array of records, a bare record, or one of the ways to say "none". */
export function readSingle(path: string, answer: Answer): readonly RawRecord[] {
  if (answer.body.length === 0) return [];
  const value = parse(path, answer);
  if (value === null) return [];
  if (isRecord(value)) return singleRecord(path, answer, value);
  return readList(path, answer);
}

function singleRecord(path: string, answer: Answer, value: RawRecord): readonly RawRecord[] {
  const names = Object.keys(value);
  if (names.length === 0) return [];
  if (names.length <= 2 && names.some((name) => /^(?:error|errors|message)$/i.test(name))) throw suspect(path, answer, nameShape(value));
  return [value];
}

function parse(path: string, answer: Answer): unknown {
  try {
    return JSON.parse(utf8.decode(answer.body));
  } catch {
    throw suspect(path, answer, 'not JSON');
  }
}

function isRecord(value: unknown): value is RawRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What a value is, without its content: its kind, and the names of the first keys of an object. */
export function nameShape(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  if (value === null) return 'null';
  if (!isRecord(value)) return `a ${typeof value}`;
  const names = Object.keys(value)
    .slice(0, 5)
    .filter((name) => /^[\w .-]{1,40}$/.test(name));
  return names.length === 0 ? 'an object' : `an object with the keys ${names.join(', ')}`;
}

function suspect(path: string, { status, body }: Answer, what: string): SourceError {
  return new SourceError('E_SOURCE_ANSWER', 'suspect', `${path}: HTTP ${status} with ${body.length} bytes: ${what}`, { status });
}
