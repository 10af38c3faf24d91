const backslash = 0x5c;
const letterU = 0x75;

/** The character for each letter after a backslash; 0 for invalid letters. */
const simple = new Uint8Array(256);
for (const [letter, character] of ['""', '\\\\', '//', 'b\b', 'f\f', 'n\n', 'r\r', 't\t']) {
  simple[letter?.charCodeAt(0) ?? 0] = character?.charCodeAt(0) ?? 0;
}

/**
 * Writes the text of a JSON string with escapes as UTF-8. It is never longer than its source.
 *
 * @param start Offset after the opening quote.
 * @param end Offset of the closing quote.
 * @param text Receives the text, at an offset.
 * @returns The offset after it; -1 for an invalid escape, for NUL, and for half a surrogate pair.
 */
export function unescape(json: Uint8Array, start: number, end: number, text: Buffer, offset: number): number {
  let length = offset;
  let at = start;
  while (at < end) {
    const byte = json[at] ?? 0;
    if (byte !== backslash) {
      text[length] = byte;
      length += 1;
      at += 1;
      continue;
    }
    const letter = json[at + 1] ?? 0;
    if (letter !== letterU) {
      const character = simple[letter] ?? 0;
      if (character === 0) return -1;
      text[length] = character;
      length += 1;
      at += 2;
      continue;
    }
    let unit = unitAt(json, at, end);
    at += 6;
    if (unit >= 0xdc00 && unit <= 0xdfff) return -1;
    if (unit >= 0xd800 && unit <= 0xdbff) {
      const low = unitAt(json, at, end);
      if (low < 0xdc00 || low > 0xdfff) return -1;
      unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
      at += 6;
    }
    if (unit <= 0) return -1;
    length += text.write(String.fromCodePoint(unit), length);
  }
  return length;
}

/** Returns the code unit of `\uXXXX` at an offset; -1 if there is none. */
function unitAt(json: Uint8Array, at: number, end: number): number {
  if (at + 6 > end || json[at] !== backslash || json[at + 1] !== letterU) return -1;
  let unit = 0;
  for (let index = at + 2; index < at + 6; index += 1) {
    const digit = digitOf(json[index] ?? 0);
    if (digit < 0) return -1;
    unit = 16 * unit + digit;
  }
  return unit;
}

/** Returns the value of a hexadecimal digit in ASCII, or -1. */
function digitOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : -1;
}
