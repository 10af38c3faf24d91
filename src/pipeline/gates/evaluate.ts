import type { Violation, Warning } from '../../core/index.js';
import type { Tally } from '../../flow/index.js';
import { driftOf, refuseUnstable } from '../../source/index.js';
import type { Ledger } from '../run/ledger.js';
import { refuseCounts } from '../run/row-counts.js';
import type { Count, Counts } from '../run/counts.js';
import type { Expectations, Measured } from './expectations.js';
import type { Output } from '../run/outputs.js';
import type { Pipeline } from '../spec/pipeline.js';
import type { Rejects } from '../run/rejects.js';
import type { RunReport, SinkReport } from '../run/report.js';
import { amount } from '../spec/units.js';
import { gateResult, type GateResult, warningsOfOverridden } from './result.js';
import { refuseChanges } from './schema.js';
import { type ListCount, shrinkGate, warnOfEmpty } from './shrink.js';

/** What a run is judged by. */
export interface GateInput {
  readonly pipeline: Pipeline;
  readonly report: RunReport;
  readonly ledger: Ledger;
  readonly outputs: readonly Output[];
  readonly rejects: Rejects;
  readonly expectations: Expectations | undefined;
  readonly counts: Counts;
  /** Whether lists and outputs may be as small as they are. */
  readonly allowShrink: boolean;
  /** Where something stood before the run, by the place of the sink. */
  readonly standing: ReadonlyMap<string, string>;
}

/**
 * Checks everything that stands between a read and its publication, to the end: whoever has to act sees all of it at once. `refusalOf` is
 * the error that the result may be.
 *
 * @param warn Called with what is recognised and is no failure.
 * @returns What each gate found; gates that the pipeline or an option leaves out are not there.
 */
export function evaluateGates(run: GateInput, warn: (warning: Warning) => void): readonly GateResult[] {
  const { pipeline, report, ledger, outputs, rejects, expectations, counts, allowShrink } = run;
  const reads = [{ at: report.collection, consistency: report.consistency }, ...ledger.sides];
  const lists = ledger.lists(report.partial).map((list) => ({ ...list, earlier: earlierOf(list.collection, counts, outputs) }));
  const sizes = outputs.map(measured);
  const warnings = [
    ...reads.flatMap(({ at, consistency }) => driftOf(at, consistency)),
    ...ledger.columns.warnings(report.partial),
    ...warnOfEmpty(lists),
    ...warnOfUnknown(run, lists, sizes),
    ...remarksOf(run),
    ...report.sinks.flatMap(warnOfRejected),
  ];
  const strict = pipeline.connection.strict ?? false;
  if (!strict) warnings.forEach(warn);

  const checked = pipeline.consistency.allowUnstable ? [] : reads;
  const rejected = rejects.refuse(report.rejects.rows, report.read + report.consistency.repaired);
  const gates = [
    ...checked.map(({ at, consistency }) => gateResult('consistency', at, refuseUnstable(at, consistency))),
    shrinkGate(lists, pipeline.expect?.max_read_shrink, allowShrink),
    ...(strict ? [gateResult('strict', undefined, warnings.map(refuseWarning))] : []),
    ...report.sinks.map(({ at, books }) => gateResult('books', at, refuseCounts(at, books))),
    ...ledger.steps.flatMap(gateOfStep),
    gateResult('rejects', undefined, rejected),
    ...(pipeline.schema === 'freeze' ? [gateResult('schema', undefined, refuseColumns(run))] : []),
    ...(expectations?.results(sizes) ?? []),
  ];
  // Who overrides a gate wants it overridden under `strict`, too.
  warningsOfOverridden(gates).forEach(warn);
  return gates;

  /** A manifest tells what stands there, unless that is a part; of other outputs the last run remembers. */
  function measured({ at, output, prepared, earlier }: Output): Measured {
    const before = (earlier?.partial ? undefined : earlier) ?? (output === undefined ? undefined : counts.ofOutput(output));
    return { at, total: prepared.total, earlier: before, mayShrink: allowShrink };
  }
}

function gateOfStep({ step, tally }: Ledger['steps'][number]): readonly GateResult[] {
  const found = step.gate(tally);
  if (!found) return [];
  const { gate, violation } = found;
  return [gateResult(gate, step.at, violation ? [{ ...violation, message: `${step.at}: ${violation.message}` }] : [])];
}

/**
 * What a list was before: the most that the last run counted of it, the last run of an output, whatever account and address that read it by,
 * or the run whose table stands at an output, which can be an earlier one.
 */
function earlierOf(collection: string, counts: Counts, outputs: readonly Output[]): Count | undefined {
  const made = outputs.flatMap(({ output, earlier }): readonly Count[] => {
    const kept = output === undefined ? undefined : counts.ofOutput(output);
    const runs = [kept, earlier && { run: earlier.runId, reads: earlier.reads }];
    return runs.flatMap((of) => {
      const rows = of?.reads[collection];
      return of === undefined || rows === undefined ? [] : [{ rows, run: of.run }];
    });
  });
  return [counts.ofList(collection) ?? [], made].flat().toSorted((a, b) => b.rows - a.rows)[0];
}

/** Outputs that stand there without a count of them, or of what they were made of: gates that compare see nothing. */
function warnOfUnknown(
  { pipeline, report, standing }: GateInput,
  lists: readonly ListCount[],
  sizes: readonly Measured[],
): readonly Warning[] {
  const { max_shrink: shrink, max_growth: growth } = pipeline.expect ?? {};
  const blind = shrink !== undefined || growth !== undefined || (lists.length > 0 && lists.every(({ earlier }) => earlier === undefined));
  const unknown =
    blind && !report.partial ? sizes.flatMap(({ at, earlier }) => (earlier === undefined ? (standing.get(at) ?? []) : [])) : [];
  if (unknown.length === 0) return [];
  const what = `${unknown.join(', ')} ${unknown.length === 1 ? 'stands' : 'stand'} there, and no earlier count is in the state folder`;
  return [{ code: 'W_GATE_BASELINE', message: `${what}: whether lists or outputs shrank is not known` }];
}

/** What steps did that can hardly be meant; an empty other side says enough by itself. */
function remarksOf({ pipeline, report, ledger }: GateInput): readonly Warning[] {
  const empty = new Set(ledger.sides.filter(({ rows }) => rows === 0).map(({ at }) => at));
  let arrived = report.read + report.consistency.repaired - report.consistency.duplicates;
  return ledger.steps.flatMap(({ step, tally }): readonly Warning[] => {
    const remark = step.remark(tally, arrived);
    arrived += tally.expanded + tally.groups - goneIn(tally);
    const known = remark?.code === 'W_STEP_EMPTY' ? pipeline.expect?.min_rows !== undefined : empty.has(step.at);
    return remark === undefined || known ? [] : [{ ...remark, message: `${step.at}: ${remark.message}` }];
  });
}

/** An output without rows, though there were some. */
function warnOfRejected({ at, total, books }: SinkReport): readonly Warning[] {
  if (total > 0 || books.rejected === 0) return [];
  const message = `${at}: no row was written, since ${amount(books.rejected)} of ${amount(books.read)} were rejected; rejects.max refuses that`;
  return [{ code: 'W_SINK_EMPTY', message }];
}

/** Rows that came to a step and did not leave it. */
function goneIn({ filtered, duplicates, beyondLimit, unmatched, rejected, grouped }: Tally): number {
  return filtered + duplicates + beyondLimit + unmatched + rejected + grouped;
}

function refuseWarning({ code, message }: Warning): Violation {
  return { code: 'E_GATE_STRICT', message: `${code}: ${message}` };
}

/** A field that came too late for a column is as new as one of page 1. */
function refuseColumns({ pipeline, ledger, outputs }: GateInput): readonly Violation[] {
  const { undeclared } = ledger.columns;
  const columns = pipeline.plan.columns(undeclared);
  return refuseChanges(
    outputs.map(({ at, writes, earlier }) => ({ at, columns: writes(columns), earlier })),
    new Set([...undeclared, ...outputs.flatMap(({ earlier }) => earlier?.undeclared ?? [])].map(({ original }) => original)),
  );
}
