/**
 * Whether a text could be one of a few words that stand for something, as of a status: at most 40 letters, digits, spaces, `_`, `.` and `-`.
 * No address of a person or of a page is.
 *
 * @example
 * isWord('sold_twice'); // true
 * isWord('https://example.com/?email=jane@example.com'); // false
 */
export function isWord(text: string): boolean {
  return /^[\p{L}\p{N}][\p{L}\p{N} _.-]{0,39}$/u.test(text);
}
