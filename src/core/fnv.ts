const basis = 0x811c9dc5;
const prime = 0x01000193;

/** 32 bits of some bytes (FNV-1a), signed. Equal hashes do not make equal bytes; of the last bytes the low bits know little. */
export function hashOfBytes(bytes: Uint8Array, start: number, end: number): number {
  let hash = basis;
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ (bytes[at] ?? 0), prime);
  return hash;
}

/** The same of a text, over its UTF-16 units; from 0 to 4294967295. */
export function hashOfText(text: string): number {
  let hash = basis;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), prime);
  return hash >>> 0;
}
