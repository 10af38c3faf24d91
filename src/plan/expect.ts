import type { z } from 'zod';
import { amount, amountOf, compareShare, isMap, listed, schema, textOf, type Column } from '../core/index.js';
import { KeyMap } from '../flow/index.js';
import type { Published } from '../lake/index.js';
import { distinct, usually } from '../options/index.js';
import { keysOf, memoOf, type RecordBatch } from '../vector/index.js';
import type { Path } from './document.js';
import type { Problem } from './issues.js';
import { exceeds, part, percent, share, tolerance, written, type Tolerance } from './units.js';

/** By how much the service's lists may shrink since the last run, by default. */
export const defaultReadShrink = 0.5;

const someName = schema((z) => z.string().min(1));

export const expectShape = schema((z) =>
  z.strictObject({
    min_rows: z.number().int().min(0).optional().describe('Minimum number of rows that leave the last step.'),
    max_shrink: part().optional().describe("How much smaller than the last run's an output may be, like 20%. The first run passes."),
    max_growth: share()
      .optional()
      .describe(
        "How much bigger than the last run's an output may be, like 50%. The first run passes, and so does one after an empty output.",
      ),
    max_read_shrink: usually(z.union([part(), z.record(someName(), part())]), percent(defaultReadShrink)).describe(
      'How much smaller than in the last run the lists may be, like 80%, or by collection, like { bridges: 100% }; 100% lets them be empty.',
    ),
    max_null: z
      .record(someName(), tolerance())
      .optional()
      .describe('Maximum number of rows in which a column is null or empty, like 5% or 100; by column.'),
    not_null: distinct(z.array(someName()).min(1)).optional().describe('Columns that must not be null or empty in any row.'),
    unique: distinct(z.array(z.union([someName(), distinct(z.array(someName()).min(1))])).min(1), (names) => [names].flat().join(' + '))
      .optional()
      .describe(
        'Columns, or lists of columns taken together, whose values must be unique unless null or empty. At most 32 bytes of memory per value.',
      ),
    accepted_values: z
      .record(someName(), z.array(z.string()).min(1))
      .optional()
      .describe('Values that a column may have besides null and empty, as text formats write them; by column.'),
  }),
);

/** What a pipeline expects of its rows before it publishes them. */
export type Expect = Readonly<z.output<ReturnType<typeof expectShape>>>;

/** The gates that compare outputs with those of the last run. `--allow-shrink` overrides a refusal of the first one. */
export const outputGates = ['max_shrink', 'max_growth'] as const;

/** A gate on the rows that leave the last step. */
export interface Gate {
  readonly gate: string;
  /** Returns how many rows of a batch it does not like. Default: none. */
  count?(batch: RecordBatch): number;
  /** Describes why it refuses the rows, if it does. @param rows All rows seen. @param counted Those that it does not like. */
  refuse(rows: number, counted: number): string | undefined;
}

export interface Measured {
  readonly at: string;
  readonly total: number;
  readonly earlier: Pick<Published, 'rows'> | undefined;
}

export function openGates(expect: Expect, columns: readonly Column[]): readonly Gate[] {
  const { min_rows: fewest, max_null: nulls = {}, not_null: filled = [], unique = [], accepted_values: accepted = {} } = expect;
  return [
    ...(fewest === undefined ? [] : [checkCount(fewest)]),
    ...Object.entries(nulls).map(([name, most]) => checkNulls(name, `max_null.${name}`, most)),
    ...filled.map((name) => checkNulls(name, `not_null.${name}`, { rows: 0 })),
    ...unique.map((names) => checkUnique([names].flat())),
    ...Object.entries(accepted).map(([name, values]) => checkValues(name, values, columns)),
  ];
}

/** Reports columns in `expect` that do not leave the last step, and lists that are not read; unknown ones are not checked. */
export function checkExpect(
  expect: Expect,
  known: { readonly columns: readonly Column[] | undefined; readonly reads: readonly string[] | undefined },
  problem: Problem,
): void {
  const columns = known.columns?.map(({ name }) => name);
  for (const [gate, value] of Object.entries(expect)) {
    const isOfLists = gate === 'max_read_shrink';
    const there = isOfLists ? known.reads : columns;
    for (const { name, path, onKey } of there ? namesIn(value, ['expect', gate]).filter((each) => !there.includes(each.name)) : []) {
      const what = isOfLists ? `the list '${name}' is not read here` : `there is no column '${name}' after the last step`;
      problem(path, `${what}${listed(there ?? [])}`, onKey);
    }
  }
}

/** Returns the names in the value of a gate, with their places: the keys of a map, or the texts of a list. */
function namesIn(value: unknown, path: Path): readonly { readonly name: string; readonly path: Path; readonly onKey?: true }[] {
  if (typeof value === 'string') return [{ name: value, path }];
  if (Array.isArray(value)) return value.flatMap((each, index) => namesIn(each, [...path, index]));
  return isMap(value) ? Object.keys(value).map((name) => ({ name, path: [...path, name], onKey: true })) : [];
}

function checkCount(fewest: number): Gate {
  const problem = (rows: number) => `expect.min_rows: expected at least ${amountOf(fewest, 'row')}, found ${amount(rows)}`;
  return { gate: 'min_rows', refuse: (rows) => (rows >= fewest ? undefined : problem(rows)) };
}

export function refusedChange(gate: (typeof outputGates)[number], most: number, { at, total, earlier }: Measured): string | undefined {
  if (earlier === undefined || earlier.rows === 0) return undefined;
  const [way, remedy] = gate === 'max_shrink' ? ['smaller', '; run --allow-shrink publishes it once'] : ['bigger', ''];
  const change = gate === 'max_shrink' ? earlier.rows - total : total - earlier.rows;
  if (compareShare(change, most, earlier.rows) <= 0n) return undefined;
  const found = `found ${amountOf(total, 'row')}, previously ${amount(earlier.rows)} (${percent(change / earlier.rows)} ${way})`;
  return `${at}: expect.${gate}: the output may be at most ${percent(most, 10)} ${way} than the last run's, ${found}${remedy}`;
}

function checkNulls(name: string, gate: string, most: Tolerance): Gate {
  return {
    gate,
    count: (batch) => {
      const vector = batch.columnOrNulls(name);
      let empty = 0;
      for (let row = 0; row < vector.length; row += 1) if (vector.isEmpty(row)) empty += 1;
      return empty;
    },
    refuse: (rows, empty) => {
      if (!exceeds(empty, most, rows)) return undefined;
      const limit = 'share' in most ? `${written(most)} of rows` : amountOf(most.rows, 'row');
      const allowed = Object.values(most).includes(0) ? 'no row' : `at most ${limit}`;
      return `expect.${gate}: ${allowed} may be empty, found ${percent(empty / rows)} (${amount(empty)} of ${amount(rows)})`;
    },
  };
}

function checkUnique(names: readonly string[]): Gate {
  const gate = `unique.${names.join('+')}`;
  const seen = new KeyMap();
  return {
    gate,
    count: (batch) => {
      const keyAt = keysOf(batch, names);
      let repeated = 0;
      for (let row = 0; row < batch.length; row += 1) {
        const key = keyAt(row);
        if (key !== undefined && !seen.add(key)) repeated += 1;
      }
      return repeated;
    },
    refuse: (rows, repeated) =>
      repeated === 0
        ? undefined
        : `expect.${gate}: values must be unique, found ${amountOf(repeated, 'repetition')} in ${amountOf(rows, 'row')}`,
  };
}

/** Counts values that are not accepted. It shows only words in plain columns: a URL may contain an address. */
function checkValues(name: string, accepted: readonly string[], columns: readonly Column[]): Gate {
  const column = columns.find((each) => each.name === name);
  const type = column?.type ?? 'text';
  const values = new Set(accepted);
  const samples = new Set<string>();
  const acceptedIn = memoOf((value) => {
    const text = textOf(value, type);
    return text === null || text === '' || values.has(text);
  });
  return {
    gate: `accepted_values.${name}`,
    count: (batch) => {
      const vector = batch.columnOrNulls(name);
      const isAccepted = acceptedIn(vector);
      let others = 0;
      for (let row = 0; row < vector.length; row += 1) {
        if (isAccepted(row)) continue;
        others += 1;
        const text = samples.size < 5 && column?.sensitivity === 'plain' ? textOf(vector.value(row), type) : null;
        if (text !== null && isWord.test(text)) samples.add(text);
      }
      return others;
    },
    refuse: (rows, others) => {
      if (others === 0) return undefined;
      const like = samples.size === 0 ? '' : `, like ${[...samples].map((text) => JSON.stringify(text)).join(', ')}`;
      return `expect.accepted_values.${name}: expected only ${accepted.join(', ')}, found other values in ${amount(others)} of ${amountOf(rows, 'row')}${like}`;
    },
  };
}

/** Matches what may be a code word, such as a status, but no email address or URL. */
const isWord = /^[\p{L}\p{N}][\p{L}\p{N} _.-]{0,39}$/u;
