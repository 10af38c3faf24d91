import { repeated, type Column } from '../../core/index.js';
import type { ColumnsContext, ConfigPath } from '../../flow/index.js';
import { takenName } from './assemble.js';
import { comparedBy, type Choice } from './build-side.js';
import { refuseRepeats, requireColumn, unknownName } from '../fields.js';

/** How the columns of two sides are joined. */
export interface Meet {
  readonly on: Readonly<Partial<Record<string, string>>>;
  readonly as: string;
  /** Default: all fields of the right side. */
  readonly select: readonly string[] | undefined;
  readonly pick?: Choice | undefined;
}

/** What is known about the right side of a join. */
export interface RightSide {
  /** Name of the side in messages. */
  readonly name: string;
  readonly columns: readonly Column[];
  readonly withheld: readonly string[];
}

/** Returns the columns that leave a join. */
export function joinedColumns(
  { on, as, select, pick }: Meet,
  input: readonly Column[],
  right: RightSide,
  context: ColumnsContext,
): readonly Column[] {
  for (const [left, field] of Object.entries(on)) if (field !== undefined) checkPair([left, field], input, right, context);
  const side = typeof pick === 'object' && 'min' in pick ? 'min' : 'max';
  for (const field of comparedBy(pick)) requireRight(field, right, context, ['pick', side]);
  refuseRepeats(select ?? [], context, ['select']);
  const added = (select ?? right.columns.map(({ name }) => name))
    .flatMap((field, index) => requireRight(field, right, context, select ? ['select', index] : []) ?? [])
    .map((column) => prefixed(as, column));
  for (const column of added) {
    if (input.some((present) => present.name === column.name)) context.problem(['as'], takenName(column.name));
  }
  return pick === 'all' ? repeated([...input, ...added]) : [...input, ...added];
}

function checkPair([left, field]: readonly [string, string], input: readonly Column[], right: RightSide, context: ColumnsContext): void {
  const column = requireColumn(left, input, context, ['on', left], true);
  const met = requireRight(field, right, context, ['on', left]);
  if (!column || kindOf(column) === (met ? kindOf(met) : 'text')) return;
  context.problem(['on', left], neverMatches(column, met), true);
}

/** Finds a field of the other side, or reports its name along with the most similar name. */
function requireRight(name: string, right: RightSide, context: ColumnsContext, path: ConfigPath): Column | undefined {
  const column = right.columns.find((candidate) => candidate.name === name);
  if (column) return column;
  const names = right.columns.map((candidate) => candidate.name);
  const said = unknownName('field', name, names, { withheld: right.withheld });
  context.problem(path, said.replace(`unknown field '${name}'`, `${right.name} has no field '${name}'`));
  return undefined;
}

/** Returns the type by which a column is compared: text until it is cast. */
function kindOf({ cast, type }: Column): string {
  return cast ? type : 'text';
}

function neverMatches(left: Column, right: Column | undefined): string {
  const [one, other] = [kindOf(left), right ? kindOf(right) : 'text'];
  return `field '${left.name}' is ${one} here and never matches ${other}; join before it is cast, or cast both sides to the same type`;
}

function prefixed(as: string, column: Column): Column {
  return { ...column, name: `${as}_${column.name}`, original: `${as}_${column.original}`, source: undefined };
}
