import { afterSpace, ascii, compact, endOfText, endOfValue } from './places.js';
import { isDeepStrictEqual } from 'node:util';
import { ambiguous, JsonText, readJson, type JsonRecord, type JsonValue } from './read.js';

/** A name occurs more than once in an object, so its value is ambiguous. */
export class RepeatedName extends Error {}

/**
 * Returns the bytes of the value at a JSON pointer (RFC 6901) in valid JSON; `undefined` if there is none.
 * @throws {RepeatedName} If a name in the pointer occurs more than once in its object; `mayRepeat` accepts repeats with equal values.
 */
export function bytesAt(json: Uint8Array, segments: readonly string[], mayRepeat = false): Uint8Array | undefined {
  const body = bufferOf(json);
  let [start, end] = [afterSpace(body, 0), body.length];
  for (const segment of segments) {
    const found = body[start] === ascii.openRecord ? memberOf(body, start, segment, mayRepeat) : itemOf(body, start, segment);
    if (found === undefined) return undefined;
    [start, end] = found;
  }
  return json.subarray(start, end);
}

/** Returns the value at a JSON pointer in a valid document; `undefined` if there is none. @throws {RepeatedName} As `bytesAt`. */
export function valueAt(json: Uint8Array, segments: readonly string[], mayRepeat = false): JsonValue | undefined {
  const place = bytesAt(json, segments, mayRepeat);
  if (place === undefined) return undefined;
  const value = bufferOf(place);
  if (value[0] === ascii.quote) return JSON.parse(value.toString('utf8')) as string;
  const isNested = value[0] === ascii.openList || value[0] === ascii.openRecord;
  const end = endOfValue(value, 0);
  const text = isNested ? compact(value, 0, end) : value.toString('latin1', 0, end);
  return text === undefined || text === 'null' ? null : new JsonText(text);
}

type Bounds = readonly [start: number, end: number];

function memberOf(json: Buffer, start: number, wanted: string, mayRepeat: boolean): Bounds | undefined {
  const valueIn = (bounds: Bounds) => valueAt(json.subarray(...bounds), []);
  let found: Bounds | undefined;
  let at = afterSpace(json, start + 1);
  while (json[at] === ascii.quote) {
    const close = endOfText(json, at);
    const name = JSON.parse(json.toString('utf8', at, close + 1)) as string;
    const value = afterSpace(json, afterSpace(json, close + 1) + 1);
    const end = endOfValue(json, value);
    if (name === wanted) {
      if (found && !(mayRepeat && isDeepStrictEqual(valueIn(found), valueIn([value, end]))))
        throw new RepeatedName(`the name ${JSON.stringify(name)} occurs twice in an object`);
      found = [value, end];
    }
    at = afterComma(json, end);
  }
  return found;
}

function itemOf(json: Buffer, start: number, wanted: string): Bounds | undefined {
  if (json[start] !== ascii.openList || !/^(?:0|[1-9]\d*)$/.test(wanted)) return undefined;
  let at = afterSpace(json, start + 1);
  for (let index = 0; json[at] !== ascii.closeList; index += 1) {
    const end = endOfValue(json, at);
    if (end <= at) return undefined;
    if (index === Number(wanted)) return [at, end];
    at = afterComma(json, end);
  }
  return undefined;
}

function afterComma(json: Buffer, end: number): number {
  const at = afterSpace(json, end);
  return json[at] === ascii.comma ? afterSpace(json, at + 1) : at;
}

function bufferOf(json: Uint8Array): Buffer {
  return Buffer.from(json.buffer, json.byteOffset, json.byteLength);
}

/** `/data/a~1b` names `a/b` of `data`. */
export function segmentsOf(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/**
 * Returns the text of a record or list without the value at a JSON pointer, and otherwise unchanged; `undefined` if nothing is left. A
 * removed member takes along a record that had no other; in a list, `null` takes the place of the value.
 * @throws {RepeatedName} If a name occurs more than once in a record that changes, with different values.
 */
export function without(json: string, [name, ...inner]: readonly string[]): string | undefined {
  if (name === undefined) return undefined;
  const bytes = Buffer.from(json);
  const place = bytesAt(bytes, [name], true);
  if (place === undefined) return json;
  const left = without(Buffer.from(place).toString(), inner);
  const record = readJson(bytes);
  if (!isRecord(record)) {
    const start = place.byteOffset - bytes.byteOffset;
    return `${bytes.toString('utf8', 0, start)}${left ?? 'null'}${bytes.toString('utf8', start + place.length)}`;
  }
  if (record[ambiguous]) throw new RepeatedName();
  const members = Object.entries(record).flatMap(([member, value]) => {
    const text = value instanceof JsonText ? value.text : JSON.stringify(value);
    const kept = member === name ? left : text;
    return kept === undefined ? [] : [`${JSON.stringify(member)}:${kept}`];
  });
  return members.length === 0 ? undefined : `{${members.join()}}`;
}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonText);
}
