import { map } from 'rxjs';
import type { Collection } from '../collections/index.js';
import { schema, StepError, strictest, unknownName, type Column, type Row, type Zod } from '../core/index.js';
import { missingDuckdb } from '../engine/index.js';
import { repeatsIn, standsTwice } from '../options/index.js';
import { batchOf, withBatch, type ColumnsContext, type ConfigPath, type Step } from '../flow/index.js';
import type { RecordBatch } from '../vector/index.js';

/** The name of a new column. An assignment to `__proto__` would have no effect. */
export const columnName = schema((z) => z.string().regex(/^(?!__proto__$)[a-z_][a-z0-9_]*$/, 'a name may contain only a-z, 0-9 and _'));

/** The key `on_error` of a file. @param which Follows `What happens to a row`. */
export function onErrorKey(z: Zod, which: string) {
  const words = `What happens to a row ${which}. Default: the pipeline's on_error.`;
  return z.enum(['reject', 'null', 'fail']).optional().describe(words);
}

/** Returns the strictest sensitivity of the fields that an expression uses. */
export function sensitivityOf(source: string, input: readonly Column[]): Column['sensitivity'] {
  const words = new Set(source.match(/\w+/g));
  return strictest(input.filter(({ name }) => words.has(name)));
}

/** Reports the package that a blocking step needs, if it is missing. @returns Whether it is installed. */
export function requireDuckdb(plan: ColumnsContext): boolean {
  const missing = missingDuckdb();
  if (missing !== undefined) plan.problem([], missing, true);
  return missing === undefined;
}

/** @throws {StepError} `E_STEP_CONFIG` if the package that a blocking step needs is missing. */
export function checkDuckdb(at: string): void {
  const missing = missingDuckdb();
  if (missing !== undefined) throw new StepError('E_STEP_CONFIG', `${at}: ${missing}`);
}

interface FieldContext extends Pick<ColumnsContext, 'withheld'> {
  /** The collection that fields come from, if a file declares it. */
  readonly collection?: Collection | undefined;
}

/** Finds a column, or reports its name. @param onKey Whether the name is the key at the path, not the value. */
export function requireColumn(
  name: string,
  columns: readonly Column[],
  plan: ColumnsContext & FieldContext,
  path: ConfigPath,
  onKey = false,
): Column | undefined {
  const column = columns.find((candidate) => candidate.name === name);
  if (column) return column;
  plan.problem(path, unknownField(name, columns, plan), onKey);
  return undefined;
}

/** Describes an unknown field, and in a file how to declare one that the service sends. */
export function unknownField(name: string, columns: readonly Column[], { withheld, collection }: FieldContext): string {
  const names = columns.map((column) => column.name);
  const message = unknownName('field', name, names, withheld);
  if (!collection || Object.hasOwn(collection.fields, name) || !columnName().safeParse(name).success) return message;
  const lines = `collections: { ${collection.name}: { ${collection.served ? 'fields' : 'add'}: { ${name}: text } } }`;
  return `${message}; if the service sends it, declare it, with at for another name there: ${lines}`;
}

export function refuseRepeats(fields: readonly string[], plan: ColumnsContext, path: ConfigPath = []): void {
  for (const index of repeatsIn(fields)) plan.problem([...path, index], `field ${standsTwice(fields[index] ?? '')}`);
}

/** Checks fields that a program names. @throws {StepError} `E_STEP_FIELD`, from the stream, if no row of a non-empty page has one. */
export function requireFields<T extends Row>(at: string, fields: readonly string[]): Step<T, T> {
  return map((page) => {
    const batch = batchOf(page);
    const absent = batch.length > 0 ? fields.find((field) => !batch.columns.has(field)) : undefined;
    if (absent !== undefined) throw new StepError('E_STEP_FIELD', `${at}: no row of page ${page.number} has a field ${absent}`);
    return withBatch<T>(page, batch);
  });
}

/** Returns rows by index, in the given order; the batch itself for all of its rows. */
export function takeRows(batch: RecordBatch, rows: readonly number[]): RecordBatch {
  return rows.length === batch.length && rows.every((row, index) => row === index) ? batch : batch.take(rows);
}

/** Trims a text and folds its case, through both cases so that `ẞ`, `ß`, `SS` and `ss` are equal. */
export function casefold(text: string): string {
  const lower = text.trim().toLowerCase();
  return /^[ -~]*$/.test(lower) ? lower : lower.toUpperCase().toLowerCase();
}

/** Refuses `undefined` as the value of a field: it would act as if the field were left out. */
export type WithoutUndefined<M> = string extends keyof M ? unknown : { readonly [K in keyof M]: Exclude<M[K], undefined> };
