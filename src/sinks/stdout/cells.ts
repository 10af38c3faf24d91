/** Pads or cuts a text to a number of terminal cells; a cut ends with `…`. */
export function cut(text: string, room: number): string {
  if (room === Infinity) return text;
  const spare = room - width(text);
  if (spare >= 0) return text + ' '.repeat(spare);
  let start = '';
  for (const character of text) {
    if (width(start + character) >= room) break;
    start += character;
  }
  return `${start}…${' '.repeat(room - width(start) - 1)}`;
}

/** Removes everything from a text that could control a terminal. */
export function printable(text: string): string {
  if (simple.test(text)) return text;
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ').replaceAll(/[\p{Cf}\p{Mn}\p{Me}]/gu, '');
}

/** Matches texts with one terminal cell per character. */
const simple = /^[ -~]*$/;
const wide = /[\p{Extended_Pictographic}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/u;

/** Returns the number of terminal cells that a text occupies: two for pictures and East Asian characters. */
export function width(text: string): number {
  if (simple.test(text)) return text.length;
  return Array.from(text).reduce((sum, character) => sum + (wide.test(character) ? 2 : 1), 0);
}
