/** The names in options that take several, like `--columns lead_id,email`, each of which may also be given by itself. */
export function listed(words: readonly string[]): readonly string[] {
  return words.flatMap((word) => word.split(',')).flatMap((word) => word.trim() || []);
}
