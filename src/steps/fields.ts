import { nearest, schema, snakeCase, strictest, type Column } from '../core/index.js';
import { repeatsIn, standsTwice } from '../options/index.js';
import type { ColumnsContext, ConfigPath, StepFacts } from '../flow/index.js';

/** The name of a new column. `__proto__` is none: an assignment to it would be lost. */
export const columnName = schema((z) => z.string().regex(/^(?!__proto__$)[a-z_][a-z0-9_]*$/, 'a name is made of a-z, 0-9 and _'));

/** What is computed from personal or secret fields is as sensitive as they are. */
export function sensitivityOf(source: string, input: readonly Column[]): Column['sensitivity'] {
  const words = new Set(source.match(/\w+/g));
  return strictest(input.filter(({ name }) => words.has(name)));
}

/** A number of rows for people. */
export function rowsOf(count: number): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? 'row' : 'rows'}`;
}

/**
 * Finds a column by name, or reports the name with the nearest right one.
 *
 * @param onKey Whether the name is the key at the path, and not the value.
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
  plan.problem(path, goneAt(name, plan) ?? underived(name) ?? unknownName('field', name, names, plan), onKey);
  return undefined;
}

/** Says what to do about an expression where a field is wanted. */
function underived(name: string): string | undefined {
  if (!/[()[\]?<>=!&|*/%"']|\S[-+]\S|\s[-+]\s/.test(name)) return undefined;
  return `'${name}' is an expression, and a field is wanted here; derive it first, like derive: { my_field: ${name} }, and name my_field here`;
}

/** Says which step did not pass a field on, if one did not. */
export function goneAt(name: string, { gone }: Pick<ColumnsContext, 'gone'>): string | undefined {
  const step = gone?.get(name);
  return step === undefined ? undefined : `field '${name}' is gone here: ${step} does not pass it on`;
}

/** The columns of a step that leaves them as they are, and needs some of them. */
export function sameColumns(fields: readonly string[] = []): StepFacts['columns'] {
  return (input, context) => {
    for (const field of fields) requireColumn(field, input, context, []);
    return input;
  };
}

/** Reports the fields that stand in a list twice. */
export function refuseRepeats(fields: readonly string[], plan: ColumnsContext, path: ConfigPath = []): void {
  for (const index of repeatsIn(fields)) plan.problem([...path, index], `field ${standsTwice(fields[index] ?? '')}`);
}

/**
 * Says that a name is unknown, why if that can be told, and which one comes nearest.
 *
 * @param listed Names to tell when none comes near. Default: none.
 */
export function unknownName(
  kind: string,
  name: string,
  known: readonly string[],
  { withheld }: Pick<ColumnsContext, 'withheld'>,
  listed: readonly string[] = [],
): string {
  if (withheld.includes(name)) {
    return `field '${name}' is withheld because it is credential-like; name it under reveal to use it`;
  }
  // A literal of another language, and the service's own name of a field.
  const meant = [noValues.includes(name) ? 'null' : name.toLowerCase(), snakeCase(name)].find(
    (word) => literals.includes(word) || known.includes(word),
  );
  if (meant !== undefined) return `unknown ${kind} '${name}', did you mean '${meant}'?`;
  const near = nearest(name, known);
  if (near === undefined && listed.length > 0) return `unknown ${kind} '${name}'; beside those of CEL there are ${listed.join(', ')}`;
  return near === undefined ? `unknown ${kind} '${name}'` : `unknown ${kind} '${name}', did you mean '${near}'?`;
}

/** What `null` is called elsewhere. */
const noValues: readonly string[] = ['None', 'nil', 'undefined'];

const literals: readonly string[] = ['null', 'true', 'false'];
