import { repeated, type Column } from '../../core/index.js';
import type { ColumnsContext, ConfigPath } from '../../flow/index.js';
import { refuseRepeats, requireColumn, unknownName } from '../fields.js';
import { takenName } from './assemble.js';
import { comparedBy, type Pick } from './pick.js';

/** How the columns of two sides are joined. */
export interface Meet {
  readonly on: Readonly<Partial<Record<string, string>>>;
  readonly as: string;
  /** Default: all fields of the right side. */
  readonly select: readonly string[] | undefined;
  readonly pick?: Pick | undefined;
}

/** What is known about the right side of a join. */
export interface RightSide {
  /** Name of the side in messages. */
  readonly name: string;
  readonly columns: readonly Column[];
  /** Columns that together identify a row, if known. */
  readonly key?: readonly string[];
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

function checkPair(pair: readonly [string, string], input: readonly Column[], right: RightSide, context: ColumnsContext): void {
  if (refuseSwapped(pair, input, right.columns, context)) return;
  const [left, field] = pair;
  const column = requireColumn(left, input, context, ['on', left], true);
  const met = requireRight(field, right, context, ['on', left]);
  if (!column || kindOf(column) === (met ? kindOf(met) : 'text')) return;
  context.problem(['on', left], neverMatches(column, met), true);
}

/** Reports a pair whose fields are swapped. @returns Whether it is one. */
function refuseSwapped(
  [left, field]: readonly [string, string],
  input: readonly Column[],
  right: readonly Column[],
  context: ColumnsContext,
): boolean {
  const has = (columns: readonly Column[], name: string) => columns.some((column) => column.name === name);
  if (has(input, left) || has(right, field) || !has(input, field) || !has(right, left)) return false;
  context.problem(['on', left], `the field of the other collection goes after the colon: { ${field}: ${left} }`, true);
  return true;
}

/** Finds a field of the other side, or reports its name along with the most similar name and the key. */
function requireRight(name: string, right: RightSide, context: ColumnsContext, path: ConfigPath): Column | undefined {
  const column = right.columns.find((candidate) => candidate.name === name);
  if (column) return column;
  const names = right.columns.map((candidate) => candidate.name);
  const said = unknownName('field', name, names, { withheld: right.withheld });
  const message = said.replace(`unknown field '${name}'`, `${right.name} has no field '${name}'`);
  const tellsKey = right.key && path[0] === 'on' && message !== said;
  context.problem(path, tellsKey ? `${message}${message.endsWith('?') ? '' : ';'} its key is ${right.key.join(' + ')}` : message);
  return undefined;
}

/** Returns the type by which a column is compared: text until it is cast. */
function kindOf({ cast, type }: Column): string {
  return cast ? type : 'text';
}

function neverMatches(left: Column, right: Column | undefined): string {
  const [one, other] = [kindOf(left), right ? kindOf(right) : 'text'];
  if (other === 'text') return `field '${left.name}' is ${one} here and never matches text; join before it is cast, or derive text from it`;
  return `field '${left.name}' is ${one} here and never matches ${other}; cast both sides to the same type, or join before they are cast`;
}

function prefixed(as: string, column: Column): Column {
  return { ...column, name: `${as}_${column.name}`, original: `${as}_${column.original}`, source: undefined };
}
