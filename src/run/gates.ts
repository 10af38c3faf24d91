import { GateError, type Column, type OutputColumn, type Violation, type Warning } from '../core/index.js';
import { batchOf, type Page } from '../flow/index.js';
import { gatesIn, writtenColumns, type Expect, type Measured, type Pipeline } from '../plan/index.js';
import { driftOf, refuseUnstable } from '../source/index.js';
import { earlierOf, gateResult, measured, shrinkGates, uncountedWarnings, warnOfUnknown, type Baseline } from './baseline.js';
import { refuseCounts, type Ledger } from './ledger.js';
import type { Rejects } from './rejects.js';
import type { GateResult, RunReport } from './report.js';

/** The input of the gates. */
interface GateInput extends Baseline {
  readonly pipeline: Pipeline;
  readonly report: RunReport;
  readonly ledger: Ledger;
  readonly rejects: Rejects;
  readonly expectations: Expectations | undefined;
  /** Whether lists and outputs may be smaller than before. */
  readonly allowShrink: boolean;
}

/**
 * Runs all checks between a read and its publication, even after a failure, so that all problems are reported together. `passGates` acts on the results.
 *
 * @param warn Called for findings that are not failures.
 * @returns The result of each gate; gates disabled by the pipeline or an option are omitted.
 */
export function evaluateGates(run: GateInput, warn: (warning: Warning) => void): readonly GateResult[] {
  const { pipeline, report, ledger, outputs, rejects, expectations, counts, allowShrink } = run;
  const reads = [{ at: report.collection, consistency: report.consistency }, ...ledger.sides];
  const lists = ledger.lists(report.partial).map((list) => ({ ...list, earlier: earlierOf(list.collection, run) }));
  const expanded = ledger.steps.reduce((sum, { tally }) => sum + tally.expanded, 0);
  const rejected = rejects.refuse(report.rejects.rows, report.read + report.consistency.repaired + expanded);
  const warnings = [
    ...reads.flatMap(({ at, consistency }) => driftOf(at, consistency)),
    ...ledger.columns.warnings(report.partial),
    ...warnOfUnknown(pipeline, report, run, lists),
    ...warnOfEmptyResults(run, rejected.length > 0),
  ];
  const strict = pipeline.connection.strict ?? false;
  const refused = strict ? warnings.filter(({ code }) => !(allowShrink && uncountedWarnings.has(code))) : [];
  warnings.filter((warning) => !refused.includes(warning)).forEach(warn);

  const checked = pipeline.consistency.allowUnstable ? [] : reads;
  return [
    ...checked.map(consistencyResult),
    // A partial list is not compared with anything.
    ...(report.partial ? [gateResult('max_read_shrink', report.collection, [], { compared: false })] : []),
    ...shrinkGates(lists, pipeline.expect, allowShrink),
    ...(strict ? [gateResult('strict', undefined, refused.map(refuseWarning))] : []),
    ...report.sinks.map(({ at, books }) => gateResult('books', at, refuseCounts(at, books))),
    ...ledger.steps.flatMap(gateOfStep),
    gateResult('rejects', undefined, rejected),
    ...(pipeline.schema === 'freeze' ? [gateResult('schema', undefined, refuseChanges(run))] : []),
    ...(expectations?.results(
      outputs.map((output) => measured(output, counts)),
      allowShrink,
    ) ?? []),
  ];
}

/**
 * Allows a run to publish, and warns of violations that an option overrides.
 *
 * @throws {GateError} All refusals, as one error.
 */
export function passGates(gates: readonly GateResult[], warn: (warning: Warning) => void): void {
  const violationsThat = (outcome: GateResult['outcome']) => gates.flatMap((gate) => (gate.outcome === outcome ? gate.violations : []));
  const refusal = GateError.of(violationsThat('refused'));
  if (refusal) throw refusal;
  for (const { message } of violationsThat('overridden'))
    warn({ code: 'W_GATE_OVERRIDDEN', message: `overridden by --allow-shrink: ${message}` });
}

function consistencyResult({ at, consistency }: Pick<RunReport['sides'][number], 'at' | 'consistency'>): GateResult {
  const found = gateResult('consistency', at, refuseUnstable(at, consistency));
  return consistency.outcome === 'off' ? { ...found, outcome: 'not checked' } : found;
}

function gateOfStep({ step, tally }: Ledger['steps'][number]): readonly GateResult[] {
  const found = step.definition.gate?.(step.config, tally);
  if (!found) return [];
  const { gate, violation } = found;
  return [gateResult(gate, step.at, violation ? [{ ...violation, message: `${step.at}: ${violation.message}` }] : [])];
}

function refuseWarning({ code, message }: Warning): Violation {
  const once = uncountedWarnings.has(code) ? ' (run --allow-shrink publishes it once)' : '';
  return { code: 'E_GATE_STRICT', message: `${code}: ${message}${once}` };
}

/** The gates of `expect` during a run. */
export interface Expectations {
  /** Counts the rows of a page that leaves the last step. */
  observe(page: Page): void;
  /** Returns the result of each gate, for the rows that it saw or for the outputs. */
  results(outputs: readonly Measured[], allowShrink: boolean): readonly GateResult[];
}

/**
 * Opens the gates of `expect`. Holds counts in memory, plus what the gates declare.
 *
 * @param columns The columns that leave the last step.
 */
export function openExpectations(expect: Expect, columns: readonly Column[]): Expectations {
  let rows = 0;
  const gates = gatesIn(expect);
  const checks = gates.flatMap((gate) => (gate.judges === 'rows' ? gate.open(columns) : []));
  const refused = (message: string | undefined): readonly Violation[] =>
    message === undefined ? [] : [{ code: 'E_GATE_EXPECT', message }];
  return {
    observe: (page) => {
      const batch = batchOf(page);
      rows += batch.length;
      for (const check of checks) check.observe(batch);
    },
    results: (outputs, allowShrink) => [
      ...checks.map((check) => gateResult(`expect.${check.gate}`, undefined, refused(check.refuse(rows)))),
      ...gates.flatMap((gate) => {
        if (gate.judges !== 'outputs') return [];
        return outputs.map((output) => {
          const options = { compared: output.earlier !== undefined, allowed: gate.overridable && allowShrink };
          return gateResult(`expect.${gate.name}`, output.at, refused(gate.refuse(output)), options);
        });
      }),
    ],
  };
}

/**
 * Returns violations of `schema: freeze`: columns that are new, missing or of another type compared to the last run. Fields that arrived too late to become
 * columns are included: they are as new as those of page 1. Without an earlier manifest there is nothing to compare with.
 */
function refuseChanges({ pipeline, ledger, outputs }: GateInput): readonly Violation[] {
  const { undeclared } = ledger.columns;
  const columns = pipeline.plan.columns(undeclared);
  const originals = new Set(
    [...undeclared, ...outputs.flatMap(({ earlier }) => earlier?.undeclared ?? [])].map(({ original }) => original),
  );
  // Columns of undeclared fields are compared by the names of the service, all others by their names.
  const keyOf = ({ name, original }: OutputColumn) => (originals.has(original) ? `original ${original}` : `name ${name}`);
  return outputs.flatMap(({ at, sink, earlier }): readonly Violation[] => {
    const changes = earlier ? changesOf(writtenColumns(sink, columns), earlier.columns, keyOf) : [];
    if (changes.length === 0) return [];
    return [{ code: 'E_GATE_SCHEMA', message: `${at}: schema: the columns of the last run are frozen, found ${changes.join('; ')}` }];
  });
}

function changesOf(
  columns: readonly OutputColumn[],
  earlier: readonly OutputColumn[],
  keyOf: (column: OutputColumn) => string,
): readonly string[] {
  const before = new Map(earlier.map((column) => [keyOf(column), column]));
  const now = new Set(columns.map(keyOf));
  const list = (what: string, names: readonly string[]) => (names.length === 0 ? [] : [`${what}: ${names.join(', ')}`]);
  const retyped = columns.flatMap((column) => {
    const was = before.get(keyOf(column))?.type;
    return was === undefined || was === column.type ? [] : [`${column.name} (${was} before, ${column.type} now)`];
  });
  return [
    ...list(
      'new',
      columns.flatMap((column) => (before.has(keyOf(column)) ? [] : column.name)),
    ),
    ...list(
      'missing',
      earlier.flatMap((column) => (now.has(keyOf(column)) ? [] : column.name)),
    ),
    ...list('changed type', retyped),
  ];
}

/**
 * Returns warnings about results that are probably unintended: what steps remark, and outputs without a row where rows were rejected.
 *
 * @param refused Whether `rejects` refuses the run, which makes a warning about rejected rows redundant.
 */
function warnOfEmptyResults({ pipeline, report, ledger }: GateInput, refused: boolean): readonly Warning[] {
  let left = report.read + report.consistency.repaired - report.consistency.duplicates;
  const remarks = ledger.steps.flatMap(({ step, tally }): readonly Warning[] => {
    const remark = step.definition.remark?.(step.config, tally, left);
    const { expanded, groups, filtered, duplicates, beyondLimit, unmatched, rejected, grouped } = tally;
    left += expanded + groups - (filtered + duplicates + beyondLimit + unmatched + rejected + grouped);
    if (remark === undefined) return [];
    // A gate, or an empty other side, already explains it.
    const isKnown =
      remark.code === 'W_STEP_EMPTY'
        ? pipeline.expect?.min_rows !== undefined
        : ledger.sides.some(({ at, rows }) => at === step.at && rows === 0);
    return isKnown ? [] : [{ ...remark, message: `${step.at}: ${remark.message}` }];
  });
  const empty = refused ? [] : report.sinks.filter(({ total, books }) => total === 0 && books.rejected > 0);
  const message = 'no row was written, and rows were rejected; a lower rejects.max would refuse this';
  return [...remarks, ...empty.map(({ at }): Warning => ({ code: 'W_SINK_EMPTY', message: `${at}: ${message}` }))];
}
