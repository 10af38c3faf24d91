import { amount, amountOf, isWord, textOf, type Column, type Violation } from '../../core/index.js';
import { keysOf, memoOf, type RecordBatch } from '../../vector/index.js';
import { batchOf, KeySet, type Page } from '../../flow/index.js';
import type { Published } from '../../lake/index.js';
import type { Expect } from './expect.js';
import { comparedResult, gateResult, type GateResult } from './result.js';
import { maxOf, percent, written, type Tolerance } from '../spec/units.js';

/** An output as `max_shrink` and `max_growth` see it. */
export interface Measured {
  readonly at: string;
  /** Rows that it will hold. */
  readonly total: number;
  readonly earlier: Pick<Published, 'rows'> | undefined;
  /** Whether it may shrink this once. Default false. */
  readonly mayShrink?: boolean;
}

/** The gates of `expect` during a run. */
export interface Expectations {
  /** Counts the rows of a page that leaves the last step. */
  observe(page: Page): void;
  /** What each gate has against the rows that it saw, or against the outputs. */
  results(outputs: readonly Measured[]): readonly GateResult[];
}

/** One expectation of the rows: what it counts, and what it has against the result, if anything. */
interface Check {
  /** Name in files and reports, below `expect`. */
  readonly gate: string;
  observe(batch: RecordBatch): void;
  /** @param rows All rows that were seen. */
  refuse(rows: number): string | undefined;
}

/**
 * Opens the gates of `expect`. In memory are counts, and per value of `unique` at most 32 bytes.
 *
 * @param columns The columns that leave the last step.
 */
export function openExpectations(expect: Expect, columns: readonly Column[]): Expectations {
  let rows = 0;
  const checks = [
    ...Object.entries(expect.max_null ?? {}).map(([name, most]) => checkNulls(name, `max_null.${name}`, most)),
    ...(expect.not_null ?? []).map((name) => checkNulls(name, `not_null.${name}`, { rows: 0 })),
    ...(expect.unique ?? []).map((names) => checkUnique([names].flat())),
    ...Object.entries(expect.accepted_values ?? {}).map(([name, values]) =>
      checkValues(
        name,
        values,
        columns.find((column) => column.name === name),
      ),
    ),
  ];
  return {
    observe: (page) => {
      const batch = batchOf(page);
      rows += batch.length;
      for (const check of checks) check.observe(batch);
    },
    results: (outputs) => [
      ...(expect.min_rows === undefined ? [] : [resultOf('min_rows', fewOf(expect.min_rows, rows))]),
      ...checks.map((check) => resultOf(check.gate, check.refuse(rows))),
      ...(['max_shrink', 'max_growth'] as const).flatMap((gate) =>
        expect[gate] === undefined ? [] : outputs.map((output) => resultOfChange(gate, expect[gate], output)),
      ),
    ],
  };
}

function fewOf(fewest: number, rows: number): string | undefined {
  return rows >= fewest
    ? undefined
    : `expect.min_rows: at least ${amountOf(fewest, 'row')} ${fewest === 1 ? 'has' : 'have'} to come, seen ${amount(rows)}`;
}

function resultOfChange(gate: 'max_shrink' | 'max_growth', most: number | undefined, output: Measured): GateResult {
  const { at, earlier, mayShrink = false } = output;
  const options = { compared: earlier !== undefined, allowed: gate === 'max_shrink' && mayShrink };
  return comparedResult(`expect.${gate}`, at, violationsOf(changeOf(gate, most, output)), options);
}

/** What is wrong with the size of an output, measured by the last run's. */
function changeOf(gate: 'max_shrink' | 'max_growth', most = Infinity, { at, total, earlier }: Measured): string | undefined {
  if (earlier === undefined || earlier.rows === 0) return undefined;
  const change = total / earlier.rows - 1;
  const seen = `seen ${amount(total)} after ${amountOf(earlier.rows, 'row')}`;
  const [grown, way] = gate === 'max_shrink' ? [-change, 'smaller'] : [change, 'bigger'];
  if (grown <= most) return undefined;
  const once = gate === 'max_shrink' ? '; run --allow-shrink publishes it once' : '';
  return `${at}: expect.${gate}: the output may be at most ${percent(most)} ${way} than the last run's, ${seen} (${percent(grown)} ${way})${once}`;
}

function checkNulls(name: string, gate: string, most: Tolerance): Check {
  let empty = 0;
  return {
    gate,
    observe: (batch) => {
      const vector = batch.columnOrNulls(name);
      for (let row = 0; row < vector.length; row += 1) if (vector.isEmpty(row)) empty += 1;
    },
    refuse: (rows) => {
      if (empty <= maxOf(most, rows)) return undefined;
      const share = percent(empty / rows);
      const allowed =
        maxOf(most, rows) === 0 ? 'no row' : 'share' in most ? `at most ${written(most)} of rows` : `at most ${amountOf(most.rows, 'row')}`;
      return `expect.${gate}: ${allowed} may be empty, seen ${share} (${amount(empty)} of ${amount(rows)})`;
    },
  };
}

function checkUnique(names: readonly string[]): Check {
  const seen = new KeySet();
  let repeated = 0;
  return {
    gate: `unique.${names.join('+')}`,
    observe: (batch) => {
      const keyAt = keysOf(batch, names);
      for (let row = 0; row < batch.length; row += 1) {
        const key = keyAt(row);
        if (key !== undefined && !seen.add(key)) repeated += 1;
      }
    },
    refuse: (rows) =>
      repeated === 0
        ? undefined
        : `expect.unique.${names.join('+')}: every value may come once, seen ${amountOf(repeated, 'repetition')} in ${amountOf(rows, 'row')}`,
  };
}

/** Values of a column that is about persons, or secret, are only counted, and so are those that are no words: a URL may hold an address. */
function checkValues(name: string, accepted: readonly string[], column: Column | undefined): Check {
  const values = new Set(accepted);
  const samples = new Set<string>();
  const type = column?.type ?? 'text';
  const acceptedIn = memoOf((value) => {
    const text = textOf(value, type);
    return text === null || text === '' || values.has(text);
  });
  let others = 0;
  return {
    gate: `accepted_values.${name}`,
    observe: (batch) => {
      const vector = batch.columnOrNulls(name);
      const isAccepted = acceptedIn(vector);
      for (let row = 0; row < vector.length; row += 1) {
        if (isAccepted(row)) continue;
        others += 1;
        if (samples.size >= 5 || column?.sensitivity !== 'plain') continue;
        const text = textOf(vector.value(row), type) ?? '';
        if (isWord(text)) samples.add(text);
      }
    },
    refuse: (rows) => {
      if (others === 0) return undefined;
      const like = samples.size === 0 ? '' : `, like ${[...samples].map((text) => JSON.stringify(text)).join(', ')}`;
      return `expect.accepted_values.${name}: only ${accepted.join(', ')} may come, seen others in ${amount(others)} of ${amountOf(rows, 'row')}${like}`;
    },
  };
}

function resultOf(gate: string, message: string | undefined): GateResult {
  return gateResult(`expect.${gate}`, undefined, violationsOf(message));
}

function violationsOf(message: string | undefined): readonly Violation[] {
  return message === undefined ? [] : [{ code: 'E_GATE_EXPECT', message }];
}
