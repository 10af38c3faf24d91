import type { Violation, Warning } from '../core/index.js';
import { driftOf, refuseUnstable } from '../source/index.js';
import { type Ledger, refuseCounts } from './ledger.js';
import type { GateInput } from './gate-input.js';
import { earlierOf, measured, ofNoMemory, warnOfUnknown } from './baseline.js';
import { remarksOf } from './remarks.js';
import { comparedResult, gateResult, type GateResult } from './result.js';
import { refuseChanges } from './schema.js';
import { shrinkGates, warnOfEmpty } from './shrink.js';

/**
 * Runs all checks between a read and its publication, even after a failure, so that all problems are reported together. `passGates` acts on the results.
 *
 * @param warn Called for findings that are not failures.
 * @returns The result of each gate; gates disabled by the pipeline or an option are omitted.
 */
export function evaluateGates(run: GateInput, warn: (warning: Warning) => void): readonly GateResult[] {
  const { pipeline, report, ledger, outputs, rejects, expectations, counts, allowShrink } = run;
  const reads = [{ at: report.collection, consistency: report.consistency }, ...ledger.sides];
  const lists = ledger.lists(report.partial).map((list) => ({ ...list, earlier: earlierOf(list.collection, counts, outputs) }));
  const sizes = outputs.map((output) => measured(output, run));
  const expanded = ledger.steps.reduce((sum, { tally }) => sum + tally.expanded, 0);
  const rejected = rejects.refuse(report.rejects.rows, report.read + report.consistency.repaired + expanded);
  const warnings = [
    ...reads.flatMap(({ at, consistency }) => driftOf(at, consistency)),
    ...ledger.columns.warnings(report.partial),
    ...warnOfEmpty(lists),
    ...warnOfUnknown(run, lists, sizes),
    ...remarksOf(run, rejected.length > 0),
  ];
  const strict = pipeline.connection.strict ?? false;
  const refused = strict ? warnings.filter(({ code }) => !(allowShrink && ofNoMemory.has(code))) : [];
  warnings.filter((warning) => !refused.includes(warning)).forEach(warn);

  const checked = pipeline.consistency.allowUnstable ? [] : reads;
  return [
    ...checked.map(consistencyResult),
    // A partial list is not compared with anything.
    ...(report.partial ? [comparedResult('max_read_shrink', report.collection, [], { compared: false, allowed: false })] : []),
    ...shrinkGates(lists, pipeline.expect?.max_read_shrink, allowShrink),
    ...(strict ? [gateResult('strict', undefined, refused.map(refuseWarning))] : []),
    ...report.sinks.map(({ at, books }) => gateResult('books', at, refuseCounts(at, books))),
    ...ledger.steps.flatMap(gateOfStep),
    gateResult('rejects', undefined, rejected),
    ...(pipeline.schema === 'freeze' ? [gateResult('schema', undefined, refuseColumns(run))] : []),
    ...(expectations?.results(sizes) ?? []),
  ];
}

function consistencyResult({ at, consistency }: Pick<GateInput['report']['sides'][number], 'at' | 'consistency'>): GateResult {
  const found = gateResult('consistency', at, refuseUnstable(at, consistency));
  return consistency.outcome === 'off' ? { ...found, outcome: 'not checked' } : found;
}

function gateOfStep({ step, tally }: Ledger['steps'][number]): readonly GateResult[] {
  const found = step.gate(tally);
  if (!found) return [];
  const { gate, violation } = found;
  return [gateResult(gate, step.at, violation ? [{ ...violation, message: `${step.at}: ${violation.message}` }] : [])];
}

function refuseWarning({ code, message }: Warning): Violation {
  const once = ofNoMemory.has(code) ? ' (run --allow-shrink publishes it once)' : '';
  return { code: 'E_GATE_STRICT', message: `${code}: ${message}${once}` };
}

/** Includes fields that arrived too late to become columns: they are as new as those of page 1. */
function refuseColumns({ pipeline, ledger, outputs }: GateInput): readonly Violation[] {
  const { undeclared } = ledger.columns;
  const columns = pipeline.plan.columns(undeclared);
  return refuseChanges(
    outputs.map(({ at, writes, earlier }) => ({ at, columns: writes(columns), earlier })),
    new Set([...undeclared, ...outputs.flatMap(({ earlier }) => earlier?.undeclared ?? [])].map(({ original }) => original)),
  );
}
