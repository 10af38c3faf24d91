import { SinkError } from '../errors.js';
import { columnReader, expectations, type Column, type DeclaredType, type Value } from '../collections/index.js';
import type { Content, Fault, OnError } from '../flow/index.js';
import { memoOfTexts, pickCells, Table, Texts, type Cells } from '../columnar/index.js';
import { castText, castTyped, quickCast, type Cast, type QuickCast } from './cast.js';
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

/** Rows as columns, each `rows` long. Values have the column's type, or are `null`; columns of texts may still be bytes. */
export interface Batch {
  readonly rows: number;
  readonly columns: readonly Cells[];
}

/**
 * What of a column a format cannot hold; `undefined` when it holds all of it. Asked once per column. The function gives the reason (`is …`,
 * `has …`), or `undefined` for values that the format can hold; it depends on the value only, and never tells it.
 */
export type Refuses = (column: OutputColumn) => ((value: Value) => string | undefined) | undefined;

export interface ProjectionOptions {
  readonly types: 'typed' | 'text';
  readonly naming: Naming;
  /** Columns that are wanted, in order. Default: all. */
  readonly columns?: readonly string[] | undefined;
  /** Default: the context's. */
  readonly on_error?: OnError | undefined;
  readonly refuses?: Refuses | undefined;
  /** Why texts with a NUL character are refused, by a format that cannot hold one (`has …`). Texts of the service have none. */
  readonly nul?: string | undefined;
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
   * once, with the first such field. A field that a row does not have is `null`. What a table holds stays as it is, and rows
   * of it are made for rejects only.
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
      const faults = new Map<number, Fault>();
      const all = content instanceof Table ? cellsOf(content) : read(content);
      const columns = plans.map((plan, index) => castCells(plan, all[index] ?? [], faults, context));
      if (faults.size === 0) return { rows: content.length, columns };
      const left: number[] = [];
      for (let index = 0; index < content.length; index += 1) {
        const fault = faults.get(index);
        if (fault) reject(content, index, fault);
        else left.push(index);
      }
      return { rows: left.length, columns: columns.map((cells) => pickCells(cells, left)) };
    },
  };

  /** What a table has for each column, as arrays that are the caller's and texts that are not. */
  function cellsOf(table: Table): readonly (Texts | Value[])[] {
    return plans.map(({ output }) => {
      const cells = table.columns.get(output.field);
      if (cells instanceof Texts) return cells;
      return cells?.slice() ?? new Array<Value>(table.length).fill(null);
    });
  }

  function reject(content: Content, index: number, fault: Fault): void {
    const row = content instanceof Table ? content.row(index) : content[index];
    if (row) context.reject(row, fault);
  }
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
  /** Whether well-formed texts without a NUL character stay as they are, with nothing else to look at. */
  readonly plain: boolean;
  readonly expectation: string;
  readonly output: OutputColumn;
  readonly required: boolean;
  readonly onError: OnError;
  readonly nul: string | undefined;
  readonly refuses: ReturnType<Refuses>;
}

/** A plan with what it remembers of a column's texts, over the whole run. */
interface ColumnPlan extends Plan {
  readonly outcomeOf: (texts: Texts, row: number) => Outcome;
  /** For values with nothing else to look at. */
  readonly quick: QuickCast | undefined;
}

/** What becomes of a value: another one, which is `null` when there is a reason against it. */
interface Outcome {
  readonly value: Value;
  readonly reason: string | undefined;
}

/** What a sink makes of a column. */
export function outputColumn(
  { name, original, type }: Column,
  { naming, types }: Pick<ProjectionOptions, 'naming' | 'types'>,
): OutputColumn {
  return { name: naming === 'original' ? original : name, field: name, original, type: types === 'text' ? 'text' : type };
}

function planOf(column: Column, options: ProjectionOptions, context: SinkContext): ColumnPlan {
  const { types, surrogates = false, nul, required = [], on_error = context.onError } = options;
  const output = outputColumn(column, options);
  const refuses = options.refuses?.(output);
  const isRequired = required.includes(column.name);
  const plan: Plan = {
    cast: types === 'typed' ? castTyped(column.type) : castText(column.type, surrogates),
    plain: output.type === 'text' && !isRequired && refuses === undefined,
    expectation: expectations[output.type],
    output,
    required: isRequired,
    onError: isRequired && on_error === 'null' ? 'reject' : on_error,
    nul,
    refuses,
  };
  return {
    ...plan,
    outcomeOf: memoOfTexts((text) => outcome(text, plan)),
    quick: refuses === undefined ? quickCast(output.type) : undefined,
  };
}

function castCells(plan: ColumnPlan, cells: Texts | Value[], faults: Map<number, Fault>, context: SinkContext): Cells {
  if (!(cells instanceof Texts)) return castValues(plan, cells, faults, context);
  return plan.plain ? cells : castTexts(plan, cells, faults, context);
}

/** Casts the values of a column in place. */
function castValues(plan: Plan, values: Value[], faults: Map<number, Fault>, context: SinkContext): readonly Value[] {
  const { plain, nul } = plan;
  for (let index = 0; index < values.length; index += 1) {
    const given = values[index] ?? null;
    if (plain && typeof given === 'string' && given.isWellFormed() && (nul === undefined || !given.includes('\0'))) continue;
    const { value, reason } = outcome(given, plan);
    values[index] = value;
    if (reason !== undefined) note(reason, index, plan, faults, context);
  }
  return values;
}

function castTexts(plan: ColumnPlan, texts: Texts, faults: Map<number, Fault>, context: SinkContext): readonly Value[] {
  const { quick, outcomeOf } = plan;
  const values = new Array<Value>(texts.length);
  for (let index = 0; index < values.length; index += 1) {
    const quickly = quick?.(texts, index);
    if (quickly !== undefined) {
      values[index] = quickly;
      continue;
    }
    const { value, reason } = outcomeOf(texts, index);
    values[index] = value;
    if (reason !== undefined) note(reason, index, plan, faults, context);
  }
  return values;
}

function outcome(given: Value, plan: Plan): Outcome {
  const value = plan.cast(given);
  const reason = reasonAgainst(value, plan);
  return { value: value === undefined || reason !== undefined ? null : value, reason };
}

function reasonAgainst(value: Value | undefined, { expectation, required, nul, refuses }: Plan): string | undefined {
  if (value === undefined) return `is not ${expectation}`;
  if (required && (value === null || value === '')) return 'is empty, and identifies the row';
  if (nul !== undefined && typeof value === 'string' && value.includes('\0')) return nul;
  return value === null ? undefined : refuses?.(value);
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
