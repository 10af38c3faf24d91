import { nearest, schema, strictest, type Column } from '../core/index.js';
import { repeatsIn, standsTwice } from '../options/index.js';
import type { ColumnsContext, ConfigPath, StepFacts } from '../flow/index.js';

/** The name of a new column. `__proto__` is not allowed: assigning to it would have no effect. */
export const columnName = schema((z) => z.string().regex(/^(?!__proto__$)[a-z_][a-z0-9_]*$/, 'a name may contain only a-z, 0-9 and _'));

/** Returns the sensitivity of a computed column: that of the most sensitive field it uses. */
export function sensitivityOf(source: string, input: readonly Column[]): Column['sensitivity'] {
  const words = new Set(source.match(/\w+/g));
  return strictest(input.filter(({ name }) => words.has(name)));
}

/** Formats a number of rows for people. */
export function rowsOf(count: number): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? 'row' : 'rows'}`;
}

/**
 * Finds a column by name, or reports the name with the most similar one.
 *
 * @param onKey Whether the name is the key at the path rather than the value.
 */
export function requireColumn(
  name: string,
  columns: readonly Column[],
  plan: ColumnsContext,
  path: ConfigPath,
  onKey = false,
): Column | undefined {
  const column = columns.find((candidate) => candidate.name === name);
  if (column) return column;
  const names = columns.map((candidate) => candidate.name);
  plan.problem(path, goneAt(name, plan) ?? unknownName('field', name, names, plan), onKey);
  return undefined;
}

/** Names the step that removed a field, if there is one. */
export function goneAt(name: string, { gone }: Pick<ColumnsContext, 'gone'>): string | undefined {
  const step = gone?.get(name);
  return step === undefined ? undefined : `field '${name}' is gone here: ${step} does not pass it on`;
}

/** Returns the columns of a step that leaves them unchanged, and requires some of them. */
export function sameColumns(fields: readonly string[] = []): StepFacts['columns'] {
  return (input, context) => {
    for (const field of fields) requireColumn(field, input, context, []);
    return input;
  };
}

/** Reports fields that are listed twice. */
export function refuseRepeats(fields: readonly string[], plan: ColumnsContext, path: ConfigPath = []): void {
  for (const index of repeatsIn(fields)) plan.problem([...path, index], `field ${standsTwice(fields[index] ?? '')}`);
}

/** Reports an unknown name, with the reason if there is one, and the most similar name. */
export function unknownName(kind: string, name: string, known: readonly string[], { withheld }: Pick<ColumnsContext, 'withheld'>): string {
  if (withheld.includes(name)) return `field '${name}' is withheld because it is credential-like; name it under reveal to use it`;
  const near = nearest(name, known);
  return near === undefined ? `unknown ${kind} '${name}'` : `unknown ${kind} '${name}', did you mean '${near}'?`;
}
