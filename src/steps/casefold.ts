/** White space around a text and its case do not count. By way of both cases: `ẞ`, `ß`, `SS` and `ss` are the same. */
export function casefold(text: string): string {
  return text.trim().toLowerCase().toUpperCase().toLowerCase();
}
