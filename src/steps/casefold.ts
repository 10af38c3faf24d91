/** Trims a text and folds its case. Going through both cases makes `ẞ`, `ß`, `SS` and `ss` equal. */
export function casefold(text: string): string {
  return text.trim().toLowerCase().toUpperCase().toLowerCase();
}
