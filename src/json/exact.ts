import { isList, type JsonItem, JsonText, readJson } from './read.js';

/** Parses JSON, with integers beyond 2^53 (identifiers of other programs) as bigints. Returns `undefined` for invalid JSON or UTF-8. */
export function parseExact(json: Uint8Array): unknown {
  const value = readJson(json);
  return value === undefined ? undefined : isList(value) ? value.map(exactItem) : exactItem(value);
}

function exactItem(item: JsonItem): unknown {
  if (item === null || typeof item === 'string') return item;
  if (!(item instanceof JsonText)) return Object.fromEntries(Object.entries(item).map(([name, value]) => [name, exactItem(value)]));
  if (/^[[{]/.test(item.text)) return parseExact(Buffer.from(item.text));
  const value: unknown = JSON.parse(item.text);
  return Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(item.text) ? BigInt(item.text) : value;
}

/** Serializes as `JSON.stringify` does, with bigints as integers. */
export function stringifyExact(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(stringifyExact).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${stringifyExact(member)}`).join(',')}}`;
}
