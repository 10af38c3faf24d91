/**
 * Returns the known name closest to a wrong one, if any is close: one that begins with it, or else contains it, or else is a few edits away.
 */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const wanted = name.toLowerCase();
  const ranked = known
    .map((candidate) => ({
      candidate,
      rank: rankOf(wanted, candidate.toLowerCase()),
      edits: editDistance(wanted, candidate.toLowerCase()),
    }))
    .filter(({ rank, edits }) => rank < unrelated || (edits < wanted.length && edits <= Math.max(1, Math.floor(wanted.length / 3))))
    .sort((a, b) => a.rank - b.rank || a.edits - b.edits);
  return ranked[0]?.candidate;
}

const unrelated = 3;

/** Less is nearer. Two letters match too many names. */
function rankOf(wanted: string, candidate: string): number {
  if (candidate === wanted) return 0;
  if (wanted.length < 3 || !candidate.includes(wanted)) return unrelated;
  return candidate.startsWith(wanted) ? 1 : 2;
}

/** Levenshtein distance in single-character edits; swapping two neighbours counts as one edit (Damerau). */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const current = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (before[j - 2] ?? 0) + 1 : Infinity;
      current.push(Math.min(replaced, swapped, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    before = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}
