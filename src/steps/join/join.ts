import { map, type Observable } from 'rxjs';
import { copier, type Row } from '../../collections/index.js';
import { pickFrom, rowsIn, type Content } from '../../columnar/index.js';
import { StepError } from '../../errors.js';
import {
  contentOf,
  keyOf,
  memoByFields,
  preload,
  reshapeAll,
  standalone,
  withFields,
  withRows,
  type Layout,
  type Page,
  type Step,
  type StepContext,
} from '../../flow/index.js';
import { byColumns } from './by-columns.js';
import { addable, unmatched, type Index, type Matches } from './addable.js';
import { preferenceOf, type Pick } from './pick.js';

/** How two sides of a join meet. */
export interface JoinOptions<Left extends Row, Right extends Row, As extends string, Field extends keyof Right & string> {
  /** Right field by left field, at least one pair; all must agree. */
  readonly on: Readonly<Partial<Record<keyof Left & string, keyof Right & string>>>;
  /** What the new fields begin with: `<as>_<field>`. */
  readonly as: As;
  /** Right fields that are added. */
  readonly select: readonly Field[];
  /** `casefold` trims and folds case on both sides before comparing. Default: texts must be the same. */
  readonly normalize?: 'casefold' | undefined;
  /** Default `error`. */
  readonly pick?: Pick<keyof Right & string> | undefined;
  /** `left` keeps rows without a match, their new fields `null`; `inner` drops them. Default `left`. */
  readonly type?: 'left' | 'inner' | undefined;
  /** Right columns that break ties of `pick`, compared as text. Default: the first read stays. */
  readonly key?: readonly (keyof Right & string)[] | undefined;
}

/** The left row with the chosen right fields. */
export type Joined<Left, Right, As extends string, Field extends keyof Right & string> = Left & {
  readonly [F in Field as `${As}_${F}`]: Right[F] | null;
};

/** Refuses, where the fields of a row are known, a join that would add one that the row has. */
export type Addition<Left, As extends string, Field extends string> = string extends keyof Left
  ? unknown
  : [Extract<`${As}_${Field}`, keyof Left>] extends [never]
    ? unknown
    : { readonly as: never };

/**
 * Adds fields of matching rows of another stream, which is read to its end before the first page of this one is
 * requested. Keys that are empty or missing never match.
 *
 * Memory: the selected and compared fields of every row of the other side (of one row per key under `first`, `max` and `min`).
 *
 * @throws {StepError} `E_STEP_MATCHES` when several rows match under `pick: 'error'`; `E_STEP_CONFIG` for empty `on` or `select`, and
 * when a row has a field of the name of one that is added.
 *
 * @example
 * leads$.pipe(join(bridges$, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'] }));
 * // { bridge_id: '4' }  ->  { bridge_id: '4', bridge_title: 'Auto' }
 */
export function join<Left extends Row, Right extends Row, const As extends string, const Field extends keyof Right & string>(
  other$: Observable<Page<Right>>,
  options: JoinOptions<NoInfer<Left>, Right, As, Field> & Addition<NoInfer<Left>, As, Field>,
  context: StepContext = standalone('join'),
): Step<Left, Joined<Left, Right, As, Field>> {
  return joining(other$, options, context, (added) => {
    const layout = withFields(added);
    return (names) => {
      const taken = added.find((name) => names.includes(name));
      if (taken === undefined) return layout(names);
      throw new StepError('E_STEP_CONFIG', `${context.at}: ${takenName(taken)}`);
    };
  });
}

/** Says that a join would add a field that is there. */
export function takenName(name: string): string {
  return `there is a field '${name}' already; choose another name under as, or leave it out of select`;
}

/**
 * Joins, whatever fields the rows have.
 *
 * @param layoutOf Where the fields come from of a row that gets these.
 */
export function joining<Left extends Row, Right extends Row, As extends string, Field extends keyof Right & string>(
  other$: Observable<Page<Right>>,
  options: JoinOptions<NoInfer<Left>, Right, As, Field>,
  context: StepContext,
  layoutOf: (added: readonly string[]) => Layout,
): Step<Left, Joined<Left, Right, As, Field>> {
  const { as, select, normalize, pick = 'error', type = 'left', key = [] } = options;
  const leftFields = Object.keys(options.on);
  const rightFields = Object.values<string | undefined>(options.on).filter((field) => field !== undefined);
  if (leftFields.length === 0 || select.length === 0)
    throw new StepError('E_STEP_CONFIG', `${context.at}: needs at least one pair under on and one field under select`);

  const fold = normalize === 'casefold' ? casefold : undefined;
  const prefer = preferenceOf(pick, key);
  const compared = typeof pick === 'string' ? [] : ['max' in pick ? pick.max : pick.min, ...key];
  const kept = [...new Set<string>([...select, ...compared])];
  const keep = copier(new Map(kept.map((field, index) => [field, index])));
  const withAdded = reshapeAll(layoutOf(select.map((field) => `${as}_${field}`)));

  function add(index: Index, page: Page<Right>): void {
    const rows = page.table ? rowsIn<Right>(page.table.only([...rightFields, ...kept])) : page.rows;
    for (const row of rows) {
      const text = keyOf(row, rightFields, fold);
      if (text === undefined) continue;
      const match = keep(
        row,
        kept.map((field) => row[field] ?? null),
      );
      const matches = index.get(text);
      if (!matches) index.set(text, [match]);
      else if (pick === 'all' || pick === 'error') matches.push(match);
      else if (matches[0] && prefer(match, matches[0])) matches[0] = match;
    }
  }

  function joinWith(index: Index): Step<Left, Joined<Left, Right, As, Field>> {
    const { places, cellsOf } = addable(index, select);
    index.clear();

    function find(row: Row): Matches {
      const text = keyOf(row, leftFields, fold);
      return (text === undefined ? undefined : places.get(text)) ?? unmatched;
    }

    // A single text that is compared as it stands is found as fast as it could be remembered.
    const matchesOf = fold === undefined && leftFields.length === 1 ? find : memoByFields(leftFields, find);
    const matchesIn = byColumns(leftFields, matchesOf);

    /** Whether a row stays that has one match or none. */
    function staysWith(match: number): boolean {
      if (match !== unmatched) context.tally.matched += 1;
      else context.tally.missed += 1;
      if (match !== unmatched || type === 'left') return true;
      context.tally.unmatched += 1;
      return false;
    }

    /** The matches that a row is put together with, of several. */
    function taken(matches: readonly number[]): readonly number[] {
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

    return map((page) => {
      const content = contentOf<Row>(page);
      const find = matchesIn(content);
      const rows: number[] = [];
      const found: number[] = [];
      let same = true;
      const put = (row: number, match: number) => {
        same &&= rows.length === row;
        rows.push(row);
        found.push(match);
      };
      for (let row = 0; row < content.length; row += 1) {
        const matches = find(row);
        if (typeof matches === 'number') {
          if (staysWith(matches)) put(row, matches);
        } else for (const match of taken(matches)) put(row, match);
      }
      const left = same && rows.length === content.length ? content : pickFrom(content, rows);
      return withRows(page, withAdded(left, cellsOf(found)) as Content<Joined<Left, Right, As, Field>>);
    });
  }

  return preload(other$, (): Index => new Map(), add, joinWith);
}

/** White space around a text and its case do not count. Upper case first: `ß` and `SS` are the same. */
function casefold(text: string): string {
  return text.trim().toUpperCase().toLowerCase();
}
