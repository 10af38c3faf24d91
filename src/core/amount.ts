/** A count for people, like `1,204`. */
export function amount(count: number): string {
  return count.toLocaleString('en-US');
}

/**
 * A count of things, like `1 row` or `1,204 rows`.
 *
 * @param several Their word where there is another number of them than one. Default: the same with an s.
 */
export function amountOf(count: number, one: string, several = `${one}s`): string {
  return `${amount(count)} ${count === 1 ? one : several}`;
}
