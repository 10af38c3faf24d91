import { z } from 'zod';
import type { Column } from '../collections/index.js';
import type { ConfigPath, PlanContext } from './step.js';

/** The name of a new column. `__proto__` is none: an assignment to it would be lost. */
export const columnName = z.string().regex(/^(?!__proto__$)[a-z_][a-z0-9_]*$/, 'a name is made of a-z, 0-9 and _');

/** Finds a column by name, or reports the name with the nearest right one. */
export function requireColumn(name: string, columns: readonly Column[], plan: PlanContext, path: ConfigPath): Column | undefined {
  const column = columns.find((candidate) => candidate.name === name);
  if (column) return column;
  const names = columns.map((candidate) => candidate.name);
  plan.problem(path, unknownName('field', name, names, plan));
  return undefined;
}

/** Says that a name is unknown, why if that can be told, and which one comes nearest. */
export function unknownName(kind: string, name: string, known: readonly string[], plan: PlanContext): string {
  if (plan.collection.fields[name]?.sensitivity === 'secret' && !plan.reveal.includes(name)) {
    return `field '${name}' is withheld because it is credential-like; name it under reveal to use it`;
  }
  const near = nearest(name, known);
  return near === undefined ? `unknown ${kind} '${name}'` : `unknown ${kind} '${name}', did you mean '${near}'?`;
}

/** The known name that is the fewest edits away, if it is near at all. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const wanted = name.toLowerCase();
  const ranked = known
    .map((candidate) => ({ candidate, edits: editDistance(wanted, candidate.toLowerCase()) }))
    .filter(({ edits }) => edits < wanted.length && edits <= Math.max(2, Math.floor(wanted.length / 3)))
    .sort((a, b) => a.edits - b.edits);
  return ranked[0]?.candidate;
}

/** Levenshtein distance, in edits of one character. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const current = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
