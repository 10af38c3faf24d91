/** Returns the end of a message about a name: the nearest known one, if any is near. */
export function didYouMean(name: unknown, known: readonly string[]): string {
  const near = typeof name === 'string' ? nearest(name, known) : undefined;
  return near === undefined ? '' : `, did you mean '${near}'?`;
}

/** Describes an unknown name, with the nearest known one or all of them. */
export function unknownName(kind: string, name: string, known: readonly string[]): string {
  const all = known.length === 0 ? '' : `; there are ${known.join(', ')}`;
  return `unknown ${kind} '${name}'${didYouMean(name, known) || all}`;
}

/**
 * Returns the known name closest to a wrong one, if any is close: another spelling, one that contains it, or one a few edits away. Case and anything but
 * letters and digits do not count.
 *
 * @example
 * nearest('first-page', ['firstPage', 'limit']); // 'firstPage'
 * nearest('limti', ['firstPage', 'limit']); // 'limit'
 */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const wanted = lettersOf(name);
  const ranked = known
    .map((candidate) => {
      const letters = lettersOf(candidate);
      const contains = wanted.length > 2 && letters.includes(wanted);
      return {
        candidate,
        edits: editDistance(wanted, letters),
        rank: letters === wanted ? 0 : !contains ? 3 : letters.startsWith(wanted) ? 1 : 2,
      };
    })
    .filter(({ edits, rank }) => rank < 3 || (edits < wanted.length && edits <= Math.max(1, Math.floor(wanted.length / 3))));
  return ranked.sort((a, b) => a.rank - b.rank || a.edits - b.edits)[0]?.candidate;
}

function lettersOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
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
