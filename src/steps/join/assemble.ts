import { itemAt, StepError, type Row } from '../../core/index.js';
import { batchOf, withBatch, type Page, type StepContext } from '../../flow/index.js';
import { memoByKey, type RecordBatch } from '../../vector/index.js';
import { casefold } from '../casefold.js';
import { unmatched, type BuildOptions, type BuildSide, type Matches } from './build-side.js';
import type { Pick } from './pick.js';

/** How two sides meet, whatever fields they have. */
export interface Meeting {
  /** Right field by left field. */
  readonly on: Readonly<Partial<Record<string, string>>>;
  readonly as: string;
  readonly select: readonly string[];
  readonly normalize?: 'casefold' | undefined;
  readonly pick?: Pick | undefined;
  readonly type?: 'left' | 'inner' | undefined;
  readonly key?: readonly string[] | undefined;
}

/** Puts rows together. */
export interface Assembly {
  /** What a build side has to keep. */
  readonly build: BuildOptions;
  /** What adds the fields of a build side to the rows of pages. */
  assembling<Left, Out>(side: BuildSide): (page: Page<Left & Row>) => Page<Out>;
}

/** Says that a join would add a field that is there. */
export function takenName(name: string): string {
  return `there is a field '${name}' already; choose another name under as, or leave it out of select`;
}

/**
 * @param taken Called with a name that rows have and that one of the added fields gets; when it returns, that one takes its place.
 * @throws {StepError} `E_STEP_CONFIG` for empty `on` or `select`.
 */
export function assembly(meeting: Meeting, context: StepContext, taken: (name: string) => void): Assembly {
  const { as, select, normalize, pick = 'error', type = 'left', key = [] } = meeting;
  const leftFields = Object.keys(meeting.on);
  const rightFields = Object.values(meeting.on).filter((field) => field !== undefined);
  if (leftFields.length === 0 || select.length === 0)
    throw new StepError('E_STEP_CONFIG', `${context.at}: needs at least one pair under on and one field under select`);

  const fold = normalize === 'casefold' ? casefold : undefined;
  const added = select.map((field) => `${as}_${field}`);

  function refuseTaken({ columns }: RecordBatch): void {
    const name = added.find((candidate) => columns.has(candidate));
    if (name !== undefined) taken(name);
  }

  /** Whether a row stays that has one match or none. */
  function staysWith(match: number): boolean {
    if (match !== unmatched) context.tally.matched += 1;
    else context.tally.missed += 1;
    if (match !== unmatched || type === 'left') return true;
    context.tally.unmatched += 1;
    return false;
  }

  /** The matches that a row is put together with, of several. */
  function chosen(matches: readonly number[]): readonly number[] {
    if (pick === 'error') {
      throw new StepError(
        'E_STEP_MATCHES',
        `${context.at}: ${matches.length} rows match on ${rightFields.join(' + ')}; say which one with pick`,
      );
    }
    context.tally.matched += 1;
    context.tally.expanded += matches.length - 1;
    return matches;
  }

  function assemble(batch: RecordBatch, find: (row: number) => Matches, side: BuildSide): RecordBatch {
    const rows: number[] = [];
    const found: number[] = [];
    let same = true;
    const put = (row: number, match: number) => {
      same &&= rows.length === row;
      rows.push(row);
      found.push(match);
    };
    for (let row = 0; row < batch.length; row += 1) {
      const matches = find(row);
      if (typeof matches === 'number') {
        if (staysWith(matches)) put(row, matches);
      } else for (const match of chosen(matches)) put(row, match);
    }
    const left = same && rows.length === batch.length ? batch : batch.take(rows);
    refuseTaken(batch);
    return left.with(side.columnsOf(found).map((column, at) => [itemAt(added, at), column]));
  }

  return {
    build: { on: rightFields, select, pick, key, normalize: fold },
    assembling: (side) => {
      const matchesIn = memoByKey(leftFields, (key): Matches => (key === undefined ? unmatched : side.matchesOf(key)), fold);
      return (page) => {
        const batch = batchOf(page);
        return withBatch(page, assemble(batch, matchesIn(batch), side));
      };
    },
  };
}
