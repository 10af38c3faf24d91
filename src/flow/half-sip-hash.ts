/**
 * Computes a keyed digest: HalfSipHash-2-4 (Aumasson and Bernstein, CC0) over the code units of a text, two per word, and its length. As in
 * SipHash with 128 bits, every word of the result has its own four rounds.
 *
 * @param seed The key, of four words.
 * @param into Receives the digest, whose length is that of the array.
 */
export function halfSipHash(text: string, seed: Uint32Array, into: Uint32Array): void {
  let v0 = seed[0] ?? 0;
  let v1 = seed[1] ?? 0;
  let v2 = seed[2] ?? 0;
  let v3 = seed[3] ?? 0;
  const end = Math.ceil(text.length / 2);
  for (let i = 0; i <= end + into.length; i += 1) {
    const input = i < end ? word(text, i) : i === end ? text.length : 0;
    if (i > end) v2 ^= 0xff;
    v3 ^= input;
    for (let round = i > end ? 4 : 2; round > 0; round -= 1) {
      v0 = (v0 + v1) | 0;
      v2 = (v2 + v3) | 0;
      v1 = rotate(v1, 5) ^ v0;
      v3 = rotate(v3, 8) ^ v2;
      v0 = (rotate(v0, 16) + v3) | 0;
      v2 = (v2 + v1) | 0;
      v3 = rotate(v3, 7) ^ v0;
      v1 = rotate(v1, 13) ^ v2;
      v2 = rotate(v2, 16);
    }
    v0 ^= input;
    if (i > end) into[i - end - 1] = v1 ^ v3;
  }
}

/** Returns the 32-bit word at an index of a text: two code units, zero beyond the end. */
function word(text: string, index: number): number {
  const at = index * 2;
  const low = at < text.length ? text.charCodeAt(at) : 0;
  const high = at + 1 < text.length ? text.charCodeAt(at + 1) : 0;
  return low | (high << 16);
}

function rotate(x: number, by: number): number {
  return (x << by) | (x >>> (32 - by));
}
