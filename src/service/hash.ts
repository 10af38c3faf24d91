/**
 * 32 bits of a text (FNV-1a over its UTF-16 units), the same in every process. Equal hashes do not make equal texts.
 *
 * @example
 * hashOf('4000003'); // a number from 0 to 4294967295
 */
export function hashOf(text = ''): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}
