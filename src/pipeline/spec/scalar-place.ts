import type { Scalar } from 'yaml';

/**
 * Returns the position in the file of a character of a scalar's value, taking account of quotes, escapes, folded lines and the indentation of blocks.
 *
 * @param text The file.
 * @param at Index in the value.
 * @returns Offset in the file.
 */
export function placeInScalar(text: string, { range, type, value }: Scalar, at: number): number {
  const [start = 0, end = start] = range ?? [];
  const block = type === 'BLOCK_LITERAL' || type === 'BLOCK_FOLDED';
  let place = block ? text.indexOf('\n', start) + 1 : type === 'PLAIN' ? start : start + 1;
  const characters = String(value);
  for (let index = 0; ; index += 1) {
    const wanted = characters[index];
    // A folded line end is a space in the value.
    while (wanted !== undefined && place < end && text[place] !== wanted && !(wanted === ' ' && text[place] === '\n')) place += 1;
    if (index >= at) return Math.min(place, end);
    place += 1;
  }
}
