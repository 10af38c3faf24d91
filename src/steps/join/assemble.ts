import { amountOf, itemAt, repeated, schema, StepError, type Column, type Row, type Violation } from '../../core/index.js';
import { batchOf, failureAt, withBatch } from '../../flow/index.js';
import type { ColumnsContext, ConfigPath, Page, RowPlace, StepContext, Tally } from '../../flow/index.js';
import { memoByKey, type RecordBatch } from '../../vector/index.js';
import type { StepRemark } from '../step.js';
import { comparedBy, defaultPick, unmatched, type BuildOptions, type BuildSide, type Matches, type Choice } from './build-side.js';
import { casefold, refuseRepeats, requireColumn, unknownName } from '../fields.js';

/** How two sides are joined, whatever fields they have. */
export interface Matching {
  /** Right field by left field. */
  readonly on: Readonly<Partial<Record<string, string>>>;
  readonly as: string;
  readonly select: readonly string[];
  readonly normalize?: 'casefold' | undefined;
  readonly pick?: Choice | undefined;
  readonly type?: 'left' | 'inner' | undefined;
  readonly key?: readonly string[] | undefined;
}

/** The parts of a context that a join needs. */
export type JoinContext = Pick<StepContext, 'at' | 'tally' | 'working'>;

/** Joins rows. */
export interface Assembly {
  /** What a build side must keep. */
  readonly build: BuildOptions;
  /** Returns a function that adds the fields of a build side to the rows of pages. */
  assembling<Left, Out>(side: BuildSide): (page: Page<Left & Row>) => Page<Out>;
}

/** Reports that a join would add a field that already exists. */
export function takenName(name: string): string {
  return `there is already a field '${name}'; choose another name under as, or leave it out of select`;
}

/**
 * @param taken Called with the name of an existing field that an added field would overwrite; if it returns, the added field replaces the existing one.
 * @throws {StepError} `E_STEP_CONFIG` for empty `on` or `select`.
 */
export function assembly(matching: Matching, context: JoinContext, taken: (name: string) => void): Assembly {
  const { as, select, normalize, pick = defaultPick, type = 'left', key = [] } = matching;
  const { at } = context;
  const leftFields = Object.keys(matching.on);
  const rightFields = Object.values(matching.on).filter((field) => field !== undefined);
  if (leftFields.length === 0 || select.length === 0)
    throw new StepError('E_STEP_CONFIG', `${at}: needs at least one pair under on and one field under select`);

  const fold = normalize === 'casefold' ? casefold : undefined;
  const added = select.map((field) => `${as}_${field}`);
  const refuseTaken = ({ columns }: RecordBatch) => {
    const name = added.find((candidate) => columns.has(candidate));
    if (name !== undefined) taken(name);
  };

  return {
    build: { on: rightFields, select, pick, key, normalize: fold },
    assembling: (side) => {
      const matchesIn = memoByKey(leftFields, (key): Matches => (key === undefined ? unmatched : side.matchesOf(key)), fold);
      return (page) => {
        const batch = batchOf(page);
        const several = (matches: readonly number[], index: number) => {
          if (pick === 'error') throw severalMatch(matches.length, rightFields, { at, page: page.number, index, row: batch.row(index) });
        };
        const pairs = pairsOf(batch.length, matchesIn(batch), { type, several }, context.tally);
        refuseTaken(batch);
        const columns = side.columnsOf(pairs.matches);
        return withBatch(page, leftOf(batch, pairs).with(columns.map((column, at) => [itemAt(added, at), column])));
      };
    },
  };
}

/** The rows of a page, paired with their matches. */
interface Pairs {
  readonly rows: readonly number[];
  /** The row of the build side, or `unmatched`. */
  readonly matches: readonly number[];
}

/** How rows are paired. */
interface Pairing {
  readonly type: 'left' | 'inner';
  /** Called when a row has several matches. @throws {StepError} `E_STEP_MATCHES` where only one is allowed. */
  several(matches: readonly number[], row: number): void;
}

function pairsOf(length: number, matchesOf: (row: number) => Matches, { type, several }: Pairing, tally: Tally): Pairs {
  const rows: number[] = [];
  const matches: number[] = [];
  for (let row = 0; row < length; row += 1) {
    const found = matchesOf(row);
    if (typeof found === 'number') {
      if (!stays(found, type, tally)) continue;
      rows.push(row);
      matches.push(found);
    } else {
      several(found, row);
      tally.matched += 1;
      tally.expanded += found.length - 1;
      for (const match of found) {
        rows.push(row);
        matches.push(match);
      }
    }
  }
  return { rows, matches };
}

/** Returns the rows of a batch, each repeated once per pair. */
function leftOf(batch: RecordBatch, { rows }: Pairs): RecordBatch {
  const isWhole = rows.length === batch.length && rows.every((row, at) => row === at);
  return isWhole ? batch : batch.take(rows);
}

/** Counts a row that has one match or none. @returns Whether it stays. */
function stays(match: number, type: 'left' | 'inner', tally: Tally): boolean {
  if (match !== unmatched) tally.matched += 1;
  else tally.missed += 1;
  if (match !== unmatched || type === 'left') return true;
  tally.unmatched += 1;
  return false;
}

function severalMatch(count: number, fields: readonly string[], place: RowPlace): StepError {
  return failureAt(
    place,
    (row) => new StepError('E_STEP_MATCHES', `${place.at}: ${count} rows match on ${fields.join(' + ')} for ${row}; choose one with pick`),
  );
}

/** A share of rows, as text. */
export const share = schema((z) => z.string().regex(/^(?:100|\d{1,2}(?:\.\d+)?)%$/, 'a share is written like 95%'));

/** Checks a tally against a minimum share of matches. @param wanted As `share`. */
export function matchGate(
  wanted: string,
  { matched, missed }: Readonly<Tally>,
): (Violation & { readonly code: 'E_GATE_MATCH' }) | undefined {
  const rows = matched + missed;
  const found = rows === 0 ? 100 : (100 * matched) / rows;
  if (found >= Number.parseFloat(wanted)) return undefined;
  const message = `${(Math.floor(found * 100) / 100).toFixed(2)}% of ${amountOf(rows, 'row')} matched, expected at least ${wanted}`;
  return { code: 'E_GATE_MATCH', message };
}

/** Warns about a join in which no row found a match. @param gate The option that refuses it. */
export function noMatch({ matched, missed }: Readonly<Tally>, other: string, gate: string): StepRemark | undefined {
  return matched === 0 && missed > 0
    ? { code: 'W_STEP_NO_MATCH', message: `none of ${amountOf(missed, 'row')} found a match in ${other}; ${gate} refuses that` }
    : undefined;
}

/** How the columns of two sides are joined. `select` is by default all fields of the right side. */
type Meet = Pick<Matching, 'on' | 'as' | 'pick'> & { readonly select: readonly string[] | undefined };

/** What is known about the right side of a join. */
interface RightSide {
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
