/**
 * Returns whether a text could be a code word, such as a status: at most 40 letters, digits, spaces, `_`, `.` and `-`. Email addresses and
 * URLs never match.
 *
 * @example
 * isWord('sold_twice'); // true
 * isWord('https://example.com/?email=jane@example.com'); // false
 */
export function isWord(text: string): boolean {
  return /^[\p{L}\p{N}][\p{L}\p{N} _.-]{0,39}$/u.test(text);
}
