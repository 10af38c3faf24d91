import { randomBytes } from 'node:crypto';

/** Formats a count for people, like `1,204`. */
export function amount(count: number): string {
  return count.toLocaleString('en-US');
}

/**
 * Formats a count with its noun, like `1 row` or `1,204 rows`.
 *
 * @param several The plural. Default: `one` with an s.
 */
export function amountOf(count: number, one: string, several = `${one}s`): string {
  return `${amount(count)} ${count === 1 ? one : several}`;
}

/**
 * Returns whether an identifier can be a segment of a URL path. It cannot if it is empty, consists of dots (which URLs drop) or is not valid Unicode.
 */
export function isAddressable(id: string): boolean {
  return !/^\.*$/.test(id) && id.isWellFormed();
}

/**
 * Creates the id of a run: unique, sortable by time, safe in file names.
 *
 * @param startedAt ISO 8601. Default: now.
 */
export function newRunId(startedAt = new Date().toISOString()): string {
  return `${startedAt.slice(0, 23).replaceAll(/[-:.]/g, '')}Z-${randomBytes(4).toString('hex')}`;
}

/** Hashes bytes to a signed 32-bit number (FNV-1a). Equal hashes do not imply equal bytes, and the low bits depend little on the last bytes. */
export function hashOfBytes(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
  return hash;
}

/**
 * Escapes everything in a text that controls a terminal or starts a new line: control characters (C0 and C1), line breaks and bidirectional
 * controls become JSON escapes. Everything from outside passes through here before it is printed.
 *
 * @example
 * printable('a\u001b[2J\nb'); // 'a\\u001b[2J\\nb'
 */
export function printable(text: string): string {
  return harmless.test(text) ? text : text.replaceAll(steering, (character) => short[character] ?? escaped(character));
}

/**
 * Serializes a value as JSON without such characters. The value is unchanged, since they are escaped.
 *
 * @param options `redact` is applied to every text and name in the value, so that the result is valid JSON whatever the secrets are;
 * `indent` works as in `JSON.stringify`.
 */
export function jsonOf(value: unknown, options: { readonly redact?: (text: string) => string; readonly indent?: number } = {}): string {
  const { redact = (text) => text, indent } = options;
  return JSON.stringify(value, (_name, item: unknown) => redacted(item, redact), indent).replaceAll(besidesLines, escaped);
}

function redacted(item: unknown, redact: (text: string) => string): unknown {
  if (typeof item === 'string') return redact(item);
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return item;
  return Object.fromEntries(Object.entries(item).map(([name, inner]) => [redact(name), inner]));
}

const harmless = /^[ -~]*$/;
const steering = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;
/** Indented JSON has line breaks between its values. */
const besidesLines = /[^\P{Cc}\n]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

const short: Readonly<Record<string, string>> = { '\b': '\\b', '\t': '\\t', '\n': '\\n', '\f': '\\f', '\r': '\\r' };

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
