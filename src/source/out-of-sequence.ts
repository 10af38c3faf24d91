/**
 * Returns how many numbers are out of sequence: the minimum to remove so that the rest increases. A row that moved counts once, however far it moved.
 *
 * Time n log n, memory 4 bytes per number.
 */
export function outOfSequence(numbers: Uint32Array): number {
  // The smallest last number of an increasing run of each length (patience sorting).
  const ends = new Uint32Array(numbers.length);
  let longest = 0;
  for (const number of numbers) {
    let low = 0;
    let high = longest;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((ends[middle] ?? 0) < number) low = middle + 1;
      else high = middle;
    }
    ends[low] = number;
    if (low === longest) longest += 1;
  }
  return numbers.length - longest;
}
