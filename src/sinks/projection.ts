import { SinkError } from '../errors.js';
import { columnReader, expectations, type Column, type DeclaredType, type Value } from '../collections/index.js';
import { rowsIn, type Content, type Fault, type OnError } from '../flow/index.js';
import type { Cells } from '../columnar/index.js';
import { castText, castTyped, type Cast } from './cast.js';
import type { Naming, SinkContext } from './sink.js';

/** A column as a sink writes it. */
export interface OutputColumn {
  readonly name: string;
  /** Its name in rows. */
  readonly field: string;
  /** The service's own name. */
  readonly original: string;
  /** `text` throughout under `types: text`. */
  readonly type: DeclaredType;
}

/** Rows as columns: one array per column, each `rows` long. Values have the column's type, or are `null`. */
export interface Batch {
  readonly rows: number;
  readonly columns: readonly Cells[];
}

/** What a format cannot hold: the reason (`is …`, `has …`), or `undefined` for values that it can. Never the value. */
export type Refuses = (value: Value, column: OutputColumn) => string | undefined;

export interface ProjectionOptions {
  readonly types: 'typed' | 'text';
  readonly naming: Naming;
  /** Columns that are wanted, in order. Default: all. */
  readonly columns?: readonly string[] | undefined;
  /** Default: the context's. */
  readonly on_error?: OnError | undefined;
  readonly refuses?: Refuses | undefined;
  /** Fields without which a row is rejected, whatever `on_error` says. */
  readonly required?: readonly string[] | undefined;
  /** Whether the format can write lone surrogates under `types: text`; default no. */
  readonly surrogates?: boolean;
  /** Whether two names that differ only in case are one, as in SQL; default no. */
  readonly caseless?: boolean;
}

/** Turns the rows of pages into what a sink writes. */
export interface Projection {
  readonly columns: readonly OutputColumn[];
  /**
   * Casts rows, column by column. Rows with a value that does not cast follow `on_error`; a rejected row is reported
   * once, with the first such field. A field that a row does not have is `null`.
   *
   * @throws {SinkError} `E_SINK_VALUE` under `on_error: fail`; the message names field and expectation.
   */
  take(content: Content): Batch;
}

/**
 * Fixes names and casts of a sink's columns.
 *
 * @throws {SinkError} `E_SINK_VALUE` when there are no columns, or two of one name.
 */
export function project(columns: readonly Column[], options: ProjectionOptions, context: SinkContext): Projection {
  const plans = wanted(columns, options, context).map((column) => planOf(column, options, context));
  refuseTwins(plans, options, context);
  const read = columnReader(plans.map(({ output }) => output.field));
  return {
    columns: plans.map((plan) => plan.output),
    take(content) {
      const rows = rowsIn(content);
      const faults = new Map<number, Fault>();
      const all = read(rows);
      plans.forEach((plan, index) => castColumn(plan, all[index] ?? [], faults, context));
      if (faults.size === 0) return { rows: rows.length, columns: all };
      for (const [index, row] of rows.entries()) {
        const fault = faults.get(index);
        if (fault) context.reject(row, fault);
      }
      return { rows: rows.length - faults.size, columns: all.map((values) => values.filter((_, index) => !faults.has(index))) };
    },
  };
}

function wanted(columns: readonly Column[], { columns: names }: ProjectionOptions, { at }: SinkContext): readonly Column[] {
  return (
    names?.map((name) => {
      const column = columns.find((candidate) => candidate.name === name);
      if (!column) throw new SinkError('E_SINK_VALUE', `${at}: there is no column ${name} to write`);
      return column;
    }) ?? columns
  );
}

interface Plan {
  readonly cast: Cast;
  /** Whether well-formed texts stay as they are, with nothing else to look at. */
  readonly plain: boolean;
  readonly expectation: string;
  readonly output: OutputColumn;
  readonly required: boolean;
  readonly onError: OnError;
  readonly refuses: Refuses | undefined;
}

/** What a sink makes of a column. */
export function outputColumn(
  { name, original, type }: Column,
  { naming, types }: Pick<ProjectionOptions, 'naming' | 'types'>,
): OutputColumn {
  return { name: naming === 'original' ? original : name, field: name, original, type: types === 'text' ? 'text' : type };
}

function planOf(column: Column, options: ProjectionOptions, context: SinkContext): Plan {
  const { types, surrogates = false, refuses, required = [], on_error = context.onError } = options;
  const output = outputColumn(column, options);
  const isRequired = required.includes(column.name);
  return {
    cast: types === 'typed' ? castTyped(column.type) : castText(column.type, surrogates),
    plain: output.type === 'text' && !isRequired && refuses === undefined,
    expectation: expectations[output.type],
    output,
    required: isRequired,
    onError: isRequired && on_error === 'null' ? 'reject' : on_error,
    refuses,
  };
}

/** Casts the values of a column in place. */
function castColumn(plan: Plan, values: Value[], faults: Map<number, Fault>, context: SinkContext): void {
  const { cast, plain } = plan;
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index] ?? null;
    if (plain && typeof value === 'string' && value.isWellFormed()) continue;
    const result = cast(value);
    const reason = reasonAgainst(result, plan);
    values[index] = result === undefined || reason !== undefined ? null : result;
    if (reason !== undefined) note(reason, index, plan, faults, context);
  }
}

function reasonAgainst(value: Value | undefined, { expectation, required, refuses, output }: Plan): string | undefined {
  if (value === undefined) return `is not ${expectation}`;
  if (required && (value === null || value === '')) return 'is empty, and identifies the row';
  return value === null ? undefined : refuses?.(value, output);
}

function note(reason: string, index: number, { output, onError }: Plan, faults: Map<number, Fault>, context: SinkContext): void {
  const { field } = output;
  if (onError === 'fail') throw new SinkError('E_SINK_VALUE', `${context.at}: field ${field} ${reason}`);
  if (onError === 'null') context.nulled(field);
  else if (!faults.has(index)) faults.set(index, { field, reason });
}

function refuseTwins(plans: readonly Plan[], { caseless = false }: ProjectionOptions, { at }: SinkContext): void {
  if (plans.length === 0) throw new SinkError('E_SINK_VALUE', `${at}: there are no columns to write`);
  const seen = new Set<string>();
  for (const { name } of plans.map((plan) => plan.output)) {
    const key = caseless ? name.toLowerCase() : name;
    if (seen.has(key))
      throw new SinkError('E_SINK_VALUE', `${at}: two columns are named ${name}${caseless ? ' (case does not count)' : ''}`);
    seen.add(key);
  }
}
