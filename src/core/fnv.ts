const basis = 0x811c9dc5;
const prime = 0x01000193;

/** Hashes bytes to a signed 32-bit number (FNV-1a). Equal hashes do not imply equal bytes, and the low bits depend little on the last bytes. */
export function hashOfBytes(bytes: Uint8Array, start: number, end: number): number {
  let hash = basis;
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ (bytes[at] ?? 0), prime);
  return hash;
}
