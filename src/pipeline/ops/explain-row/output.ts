import { expectations, type Column, type OutputColumn, type Row, type Value } from '../../../core/index.js';
import type { OnError } from '../../../flow/index.js';
import { castText, castTyped } from '../../../sinks/index.js';
import type { PlannedSink } from '../../spec/planned.js';
import type { RowOutput } from './explanation.js';
import type { FieldView } from './fields.js';

/** Most rows of an output that are shown. */
const mostRows = 20;

/** How an output is told. */
interface Telling {
  readonly view: FieldView;
  /** What its sink does with values that do not fit. */
  readonly onError: OnError;
}

/** What becomes of rows with values that do not fit. */
const outcomes = { reject: 'rejected', null: 'nulled', fail: 'failed' } as const satisfies Record<OnError, RowOutput['outcome']>;

/** What a sink makes of rows. @param columns Those that arrive. */
export function outputOf(
  { at, output, writes }: PlannedSink,
  columns: readonly Column[],
  rows: readonly Row[],
  { view, onError }: Telling,
): RowOutput {
  const written = writes(columns).map((column) => ({ ...column, arriving: arriving(column, columns) }));
  const isUnfit = rows.some((row) => written.some((column) => castOf(column)(valueOf(column, row)) === undefined));
  const cells = (row: Row) => written.map((column) => cellOf(column, row, { view, onError }));
  return { at, path: output, outcome: isUnfit ? outcomes[onError] : 'written', rows: rows.slice(0, mostRows).map(cells) };
}

interface Written extends OutputColumn {
  readonly arriving: Column;
}

function arriving({ field }: OutputColumn, columns: readonly Column[]): Column {
  const column = columns.find((candidate) => candidate.name === field);
  if (!column) throw new Error(`an output has a column of ${field}, which no row has`);
  return column;
}

function valueOf({ field }: Written, row: Row): Value {
  return row[field] ?? null;
}

function castOf({ type, arriving: column }: Written) {
  return type === 'text' ? castText(column.type, false) : castTyped(type);
}

function cellOf(column: Written, row: Row, { view, onError }: Telling) {
  const { name, type, arriving: given } = column;
  const value = valueOf(column, row);
  const fits = castOf(column)(value);
  const problem = fits === undefined ? `is not ${expectations[type]}` : undefined;
  const shown = { type: fits === undefined ? 'text' : given.type, sensitivity: given.sensitivity } as const;
  const came = fits ?? (fits === undefined && onError === 'null' ? null : value);
  return { name, type, sensitivity: given.sensitivity, value: view.value(came, shown), problem };
}
