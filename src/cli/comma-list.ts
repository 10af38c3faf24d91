/** Returns the names in an option that takes several, separated by commas (`--columns lead_id,email`) or given one by one. */
export function listed(words: readonly string[]): readonly string[] {
  return words.flatMap((word) => word.split(',')).flatMap((word) => word.trim() || []);
}
