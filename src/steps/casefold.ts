/** White space around a text and its case do not count. Upper case first: `ß` and `SS` are the same. */
export function casefold(text: string): string {
  return text.trim().toUpperCase().toLowerCase();
}
