/** Formats a count for people, like `1,204`. */
export function amount(count: number): string {
  return count.toLocaleString('en-US');
}

/**
 * Formats a count with its noun, like `1 row` or `1,204 rows`.
 *
 * @param several The plural. Default: `one` with an s.
 */
export function amountOf(count: number, one: string, several = `${one}s`): string {
  return `${amount(count)} ${count === 1 ? one : several}`;
}
