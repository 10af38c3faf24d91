import { SinkError } from '../errors.js';
import { expectations, type Column, type DeclaredType, type Row, type Value } from '../collections/index.js';
import type { Fault, OnError } from '../flow/index.js';
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
  readonly columns: readonly (readonly Value[])[];
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
  take(rows: readonly Row[]): Batch;
}

/**
 * Fixes names and casts of a sink's columns.
 *
 * @throws {SinkError} `E_SINK_VALUE` when there are no columns, or two of one name.
 */
export function project(columns: readonly Column[], options: ProjectionOptions, context: SinkContext): Projection {
  const plans = wanted(columns, options, context).map((column) => planOf(column, options));
  refuseTwins(plans, options, context);
  return {
    columns: plans.map((plan) => plan.output),
    take(rows) {
      const faults = new Map<number, Fault>();
      const all = plans.map((plan) => castColumn(plan, rows, options, context, faults));
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
  readonly field: string;
  readonly read: (row: Row) => Value | undefined;
  readonly cast: Cast;
  readonly expectation: string;
  readonly output: OutputColumn;
}

function planOf({ name, original, type }: Column, { types, naming, surrogates = false }: ProjectionOptions): Plan {
  const typed = types === 'typed';
  return {
    field: name,
    read: name in Object.prototype ? (row) => (Object.hasOwn(row, name) ? row[name] : null) : (row) => row[name],
    cast: typed ? castTyped(type) : castText(type, surrogates),
    expectation: expectations[typed ? type : 'text'],
    output: { name: naming === 'original' ? original : name, field: name, original, type: typed ? type : 'text' },
  };
}

function castColumn(
  plan: Plan,
  rows: readonly Row[],
  options: ProjectionOptions,
  context: SinkContext,
  faults: Map<number, Fault>,
): Value[] {
  const { read, cast, field, expectation, output } = plan;
  const { refuses, required = [], on_error = context.onError } = options;
  const isRequired = required.includes(field);
  const onError = isRequired && on_error === 'null' ? 'reject' : on_error;
  return rows.map((row, index) => {
    const value = cast(read(row) ?? null);
    const empty = isRequired && (value === null || value === '') ? 'is empty, and identifies the row' : undefined;
    const reason = value === undefined ? `is not ${expectation}` : (empty ?? (value === null ? undefined : refuses?.(value, output)));
    if (value !== undefined && reason === undefined) return value;
    const fault = { field, reason: reason ?? '' };
    if (onError === 'fail') throw new SinkError('E_SINK_VALUE', `${context.at}: field ${field} ${fault.reason}`);
    if (onError === 'null') context.nulled(field);
    else if (!faults.has(index)) faults.set(index, fault);
    return null;
  });
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
