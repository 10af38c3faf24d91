import { placeOf } from './pointer.js';
import { JsonText, readJson, type JsonValue } from './read.js';

/**
 * Returns the text of a record or list without the value at a JSON pointer; everything else is preserved as written. A member is removed,
 * and with it a record that had no other; in a list `null` takes its place.
 *
 * @returns `undefined` if nothing is left.
 */
export function without(json: string, [name, ...inner]: readonly string[]): string | undefined {
  if (name === undefined) return undefined;
  const bytes = Buffer.from(json);
  const place = placeOf(bytes, [name]);
  if (place === undefined) return json;
  const left = without(Buffer.from(place).toString(), inner);
  const record = readJson(bytes);
  if (!isRecord(record)) {
    const start = place.byteOffset - bytes.byteOffset;
    return `${bytes.toString('utf8', 0, start)}${left ?? 'null'}${bytes.toString('utf8', start + place.length)}`;
  }
  const members = Object.entries(record).flatMap(([member, value]) => {
    const text = value instanceof JsonText ? value.text : JSON.stringify(value);
    const kept = member === name ? left : text;
    return kept === undefined ? [] : [`${JSON.stringify(member)}:${kept}`];
  });
  return members.length === 0 ? undefined : `{${members.join()}}`;
}

function isRecord(value: unknown): value is Readonly<Record<string, JsonValue>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonText);
}
