import { isUtf8 } from 'node:buffer';

export const ascii = {
  tab: 0x09,
  lineFeed: 0x0a,
  carriageReturn: 0x0d,
  space: 0x20,
  quote: 0x22,
  plus: 0x2b,
  comma: 0x2c,
  minus: 0x2d,
  dot: 0x2e,
  zero: 0x30,
  nine: 0x39,
  colon: 0x3a,
  openList: 0x5b,
  backslash: 0x5c,
  closeList: 0x5d,
  openRecord: 0x7b,
  closeRecord: 0x7d,
} as const;

const { tab, lineFeed, carriageReturn, space, quote, plus, minus, dot, zero, nine, backslash } = ascii;
const { openList, closeList, openRecord, closeRecord } = ascii;

export function afterSpace(json: Uint8Array, start: number): number {
  let at = start;
  for (;;) {
    const byte = json[at];
    if (byte !== space && byte !== lineFeed && byte !== carriageReturn && byte !== tab) return at;
    at += 1;
  }
}

/** Returns the offset of the closing quote of a string that starts at an offset, or -1. Escapes are not validated. */
export function endOfText(json: Uint8Array, start: number): number {
  if (json[start] !== quote) return -1;
  for (let at = start + 1; at < json.length; at += 1) {
    const byte = json[at] ?? 0;
    if (byte === quote) return at;
    if (byte < space) return -1;
    if (byte === backslash) at += 1;
  }
  return -1;
}

const words = ['null', 'true', 'false'].map((word) => Buffer.from(word));

/** Returns the offset after a number, `true`, `false` or `null` that starts at an offset, or -1. */
function endOfLiteral(json: Uint8Array, start: number): number {
  for (const word of words)
    if (word[0] === json[start]) return word.every((byte, index) => json[start + index] === byte) ? start + word.length : -1;
  return endOfNumber(json, start);
}

function endOfNumber(json: Uint8Array, start: number): number {
  const first = json[start] === minus ? start + 1 : start;
  let at = json[first] === zero ? first + 1 : afterDigits(json, first);
  if (at === first) return -1;
  if (json[at] === dot) {
    const fraction = at + 1;
    at = afterDigits(json, fraction);
    if (at === fraction) return -1;
  }
  if (((json[at] ?? 0) | 0x20) === 0x65) {
    const sign = json[at + 1];
    const exponent = sign === plus || sign === minus ? at + 2 : at + 1;
    at = afterDigits(json, exponent);
    if (at === exponent) return -1;
  }
  return at;
}

function afterDigits(json: Uint8Array, start: number): number {
  let at = start;
  for (;;) {
    const byte = json[at] ?? 0;
    if (byte < zero || byte > nine) return at;
    at += 1;
  }
}

/** Returns the offset after the list or record that starts at an offset, or -1 if it does not end. Its content is not validated. */
function endOfNested(json: Uint8Array, start: number): number {
  let depth = 0;
  let at = start;
  do {
    const byte = json[at];
    if (byte === quote) {
      at = endOfText(json, at);
      if (at < 0) return -1;
    } else if (byte === openList || byte === openRecord) depth += 1;
    else if (byte === closeList || byte === closeRecord) depth -= 1;
    at += 1;
  } while (depth > 0 && at < json.length);
  return depth === 0 ? at : -1;
}

/** Returns the offset after the value that starts at an offset, or -1. Texts, lists and records are not validated. */
export function endOfValue(json: Uint8Array, start: number): number {
  const byte = json[start];
  if (byte !== quote) return byte === openList || byte === openRecord ? endOfNested(json, start) : endOfLiteral(json, start);
  const end = endOfText(json, start);
  return end < 0 ? -1 : end + 1;
}

/** Returns a list or record without white space, its strings as `JSON.stringify` writes them; `undefined` for invalid JSON. */
export function compact(json: Buffer, start: number, end: number): string | undefined {
  if (!isJson(json.subarray(start, end))) return undefined;
  const pieces: string[] = [];
  let from = start;
  let at = start;
  while (at < end) {
    const byte = json[at] ?? 0;
    if (byte === ascii.quote) {
      const behind = endOfText(json, at) + 1;
      if (json.subarray(at, behind).includes(ascii.backslash)) {
        pieces.push(json.toString('utf8', from, at), JSON.stringify(JSON.parse(json.toString('utf8', at, behind))));
        from = behind;
      }
      at = behind;
    } else if (byte <= ascii.space) {
      pieces.push(json.toString('utf8', from, at));
      at = from = afterSpace(json, at);
    } else at += 1;
  }
  return pieces.join('') + json.toString('utf8', from, end);
}

/** Returns whether bytes are a complete JSON document in UTF-8: a truncated one can look like the wanted value. */
export function isJson(json: Uint8Array): boolean {
  if (!isUtf8(json)) return false;
  try {
    JSON.parse(Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString('utf8'));
    return true;
  } catch {
    return false;
  }
}
