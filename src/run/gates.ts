import { amount, amountOf, compareShare, GateError, itemAt } from '../core/index.js';
import type { Column, OutputColumn, Violation, Warning, WarningCode } from '../core/index.js';
import { batchOf, type Page } from '../flow/index.js';
import { defaultReadShrink, openGates, outputGates, percent, refusedChange } from '../plan/index.js';
import type { Expect, Measured, Pipeline, Plan } from '../plan/index.js';
import { driftOf, refuseRead } from '../source/index.js';
import { isOtherField } from '../lake/index.js';
import { nothingKept } from '../steps/index.js';
import { isOccupied, type ObjectStores } from '../store/index.js';
import type { Count, Counts, OutputCount } from './counts.js';
import { refuseCounts, refuseMerged, type Ledger } from './ledger.js';
import type { Output } from './outputs.js';
import type { Rejects } from './rejects.js';
import type { GateResult, RunReport } from './report.js';

/** Returns the paths, or places, of complete outputs that a run replaces or adds to, by the sink. A file may be partial. */
export async function standingOutputs(
  opened: readonly Pick<Output, 'at' | 'sink' | 'earlier'>[],
  paths: readonly string[],
  stores: ObjectStores,
): Promise<ReadonlyMap<string, string>> {
  const standing = new Map<string, string>();
  const left = [...paths];
  for (const { at, sink, earlier } of opened) {
    const path = sink.output === undefined ? undefined : left.shift();
    const isStanding = earlier ? !earlier.partial : path !== undefined && (await isOccupied(path, stores));
    if (isStanding) standing.set(at, path ?? sink.place ?? at);
  }
  return standing;
}

/** Refuses to replace outputs by a partial list. @throws {GateError} `E_GATE_PARTIAL`, with a line for each. */
export function refuseReplacing({ stoppedBy, sinks }: Pick<Plan, 'stoppedBy' | 'sinks'>, standing: ReadonlyMap<string, string>): void {
  if (!stoppedBy) return;
  const violations = sinks.flatMap(({ at, definition, config }): readonly Violation[] => {
    const path = standing.get(at);
    if (path === undefined || definition.adds?.(config)) return [];
    return [
      { code: 'E_GATE_PARTIAL', message: `${at}: ${path} exists, and ${stoppedBy.at} would make the run replace it with partial data` },
    ];
  });
  const failure = GateError.of(violations);
  if (failure) throw failure;
}

interface GateInput {
  readonly pipeline: Pipeline;
  readonly report: RunReport;
  readonly ledger: Ledger;
  readonly rejects: Rejects;
  readonly expectations: ReadonlyMap<string | undefined, Expectations>;
  readonly outputs: readonly Output[];
  readonly counts: Counts | undefined;
  readonly standing: ReadonlyMap<string, string>;
  readonly allowShrink: boolean;
}

type ListCount = ReturnType<Ledger['lists']>[number] & { readonly earlier: Count | undefined };

/** Runs all checks between a read and its publication, also after a failure, so that all problems are reported together. */
export function evaluateGates(run: GateInput, warn: (warning: Warning) => void): readonly GateResult[] {
  const { pipeline, report, ledger, outputs, rejects, expectations, counts, allowShrink } = run;
  const reads = [{ at: report.collection, consistency: report.consistency }, ...ledger.sides];
  const lists = ledger.lists(report.partial).map((list) => ({ ...list, earlier: earlierOf(list.collection, run) }));
  const expanded = ledger.steps.reduce((sum, { tally }) => sum + tally.expanded, 0);
  const rejected = rejects.refuse(report.rejects.rows, report.read + report.consistency.repaired + expanded);
  const warnings = [
    ...reads.flatMap(({ at, consistency }) => driftOf(at, consistency)),
    ...ledger.fieldWarnings(report.findings),
    ...warnOfUnknown(run, lists),
    ...warnOfEmptyResults(run, rejected.length > 0),
  ];
  const strict = pipeline.connection.strict ?? false;
  const refused = strict ? warnings.filter(({ code }) => !(allowShrink && uncountedWarnings.has(code))) : [];
  warnings.filter((warning) => !refused.includes(warning)).forEach(warn);

  return [
    ...reads.map(({ at, consistency }) => {
      const violations = refuseRead(at, consistency, pipeline.consistency.allowUnstable);
      return gateResult('consistency', at, violations, { otherwise: consistency.outcome === 'off' ? 'not checked' : 'passed' });
    }),
    // A partial list is not compared with anything.
    ...(report.partial ? [gateResult('max_read_shrink', report.collection, [], { otherwise: 'not compared' })] : []),
    ...lists.map((list) => shrinkGate(list, run)),
    ...(strict ? [gateResult('strict', undefined, refused.map(refuseWarning))] : []),
    ...report.sinks.map((sink) => gateResult('books', sink.at, [...refuseCounts(sink.at, sink.books), ...refuseMerged(sink)])),
    ...ledger.steps.flatMap(gateOfStep),
    gateResult('rejects', undefined, rejected),
    ...schemaGate(run),
    ...[...expectations].flatMap(([at, each]) => {
      const own = outputs.filter(({ sink }) => (sink.where === undefined ? undefined : sink.at) === at);
      return each.results(
        own.map((output) => measured(output, counts)),
        allowShrink,
      );
    }),
  ];
}

/** Lets a run publish, and warns of violations that an option overrides. @throws {GateError} All refusals, as one error. */
export function passGates(gates: readonly GateResult[], warn: (warning: Warning) => void): void {
  const violationsThat = (outcome: GateResult['outcome']) => gates.flatMap((gate) => (gate.outcome === outcome ? gate.violations : []));
  const refusal = GateError.of(violationsThat('refused'));
  if (refusal) throw refusal;
  for (const { message } of violationsThat('overridden'))
    warn({ code: 'W_GATE_OVERRIDDEN', message: `overridden by --allow-shrink: ${message}` });
}

function gateResult(
  gate: string,
  at: string | undefined,
  violations: readonly Violation[],
  { otherwise = 'passed', allowed = false }: { readonly otherwise?: GateResult['outcome']; readonly allowed?: boolean } = {},
): GateResult {
  const outcome = violations.length > 0 ? (allowed ? 'overridden' : 'refused') : otherwise;
  return { gate, at, outcome, violations };
}

function shrinkGate(list: ListCount, { pipeline, ledger, counts: kept, allowShrink }: GateInput): GateResult {
  const { at, name, collection, rows, earlier } = list;
  const { max_read_shrink: allowed } = pipeline.expect ?? {};
  const most = typeof allowed === 'number' ? allowed : (allowed?.[collection] ?? defaultReadShrink);
  if (!earlier) {
    const isInner = ledger.steps.some(({ step, tally }) => step.at === at && tally.unmatched > 0);
    const message = `${name}: no rows were read, and the inner join dropped every row; if that is right, run once with --allow-shrink`;
    const violations: readonly Violation[] = kept && isInner && rows === 0 && most < 1 ? [{ code: 'E_GATE_SHRINK', message }] : [];
    return gateResult('max_read_shrink', at, violations, { otherwise: 'not compared', allowed: allowShrink });
  }
  const lost = earlier.rows - rows;
  const counts = `${amountOf(rows, 'row')} ${rows === 1 ? 'was' : 'were'} read, and ${amount(earlier.rows)} by the earlier run ${earlier.run}`;
  const remedy = 'if that is right, run once with --allow-shrink, or raise expect.max_read_shrink';
  const message = `${name}: ${counts}; a drop of more than ${percent(most, 10)} is refused; ${remedy}`;
  const violations: readonly Violation[] = compareShare(lost, most, earlier.rows) <= 0n ? [] : [{ code: 'E_GATE_SHRINK', message }];
  return { ...gateResult('max_read_shrink', at, violations, { allowed: allowShrink }), rows, rowsBefore: earlier.rows };
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

/** After publishing once in spite of these, later runs have counts to compare with. */
const uncountedWarnings: ReadonlySet<WarningCode> = new Set<WarningCode>(['W_GATE_BASELINE', 'W_SOURCE_EMPTY']);

export type Expectations = ReturnType<typeof openExpectations>;

/** @param at The sink whose rows they are about. Default: all without a `where`. */
export function openExpectations(expect: Expect, columns: readonly Column[], at?: string) {
  const checks = openGates(expect, columns);
  /** Rows, and those that each gate does not like. */
  const counts = [0, ...checks.map(() => 0)];
  const refused = (message: string | undefined): readonly Violation[] =>
    message === undefined ? [] : [{ code: 'E_GATE_EXPECT', message }];
  const named = (message: string | undefined) => message && (at === undefined ? message : `${at}: ${message}`);
  return {
    observe: (page: Page): void => {
      const batch = batchOf(page);
      const more = [batch.length, ...checks.map((check) => check.count?.(batch) ?? 0)];
      more.forEach((rows, index) => (counts[index] = itemAt(counts, index) + rows));
    },
    counts,
    results: (outputs: readonly Measured[], allowShrink: boolean): readonly GateResult[] => [
      ...checks.map((check, index) => {
        const refusal = check.refuse(itemAt(counts, 0), itemAt(counts, index + 1));
        return gateResult(`expect.${check.gate}`, at, refused(named(refusal)));
      }),
      ...outputGates.flatMap((name) => {
        const most = expect[name];
        return (most === undefined ? [] : outputs).map((output) => {
          const otherwise = output.earlier === undefined ? 'not compared' : 'passed';
          const violations = refused(most === undefined ? undefined : refusedChange(name, most, output));
          return gateResult(`expect.${name}`, output.at, violations, { otherwise, allowed: name === 'max_shrink' && allowShrink });
        });
      }),
    ],
  };
}

function schemaGate(run: GateInput): readonly GateResult[] {
  const isFrozen = run.pipeline.schema === 'freeze';
  const violations = [...run.ledger.misdeclared(), ...(isFrozen ? refuseChanges(run) : [])];
  return isFrozen || violations.length > 0 ? [gateResult('schema', undefined, violations)] : [];
}

/** Compares columns with the last manifest's, if there is one. Fields too late for a column are as new as those of page 1. */
function refuseChanges({ pipeline, ledger, outputs }: GateInput): readonly Violation[] {
  const { undeclared } = ledger;
  const columns = pipeline.plan.columns(undeclared);
  const originals = new Set(
    [...undeclared, ...outputs.flatMap(({ earlier }) => earlier?.undeclared ?? [])].map(({ original }) => original),
  );
  // Columns of undeclared fields are compared by the service's names, others by their own.
  const keyOf = ({ name, original }: OutputColumn) => (originals.has(original) ? `original ${original}` : `name ${name}`);
  return outputs.flatMap(({ at, sink, earlier }): readonly Violation[] => {
    const changes = earlier ? changesOf(sink.definition.writes(sink.config, columns), earlier.columns, keyOf) : [];
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
  const changed = (part: 'name' | 'type' | 'original') =>
    columns.flatMap((column) => {
      const was = before.get(keyOf(column))?.[part];
      const isSame = part === 'original' ? !isOtherField(column, was ?? column.original) : was === column[part];
      return was === undefined || isSame ? [] : [`${column.name} (${was} before, ${column[part]} now)`];
    });
  const changes = {
    new: columns.flatMap((column) => (before.has(keyOf(column)) ? [] : column.name)),
    missing: earlier.flatMap((column) => (now.has(keyOf(column)) ? [] : column.name)),
    'changed type': changed('type'),
    // Of a field that was undeclared before.
    'changed name': changed('name'),
    'changed field': changed('original'),
  };
  return Object.entries(changes).flatMap(([what, names]) => (names.length === 0 ? [] : [`${what}: ${names.join(', ')}`]));
}

/** Warns where gates have nothing to compare with. A list that an output's run did not read is new in the pipeline. */
function warnOfUnknown({ pipeline, report, standing, outputs, counts }: GateInput, lists: readonly ListCount[]): readonly Warning[] {
  const empty = lists.flatMap(({ name, rows, earlier }): readonly Warning[] => {
    const message = `${name}: no rows were read, and there is no earlier count to compare with`;
    return rows === 0 && earlier === undefined ? [{ code: 'W_SOURCE_EMPTY', message }] : [];
  });
  if (report.partial) return empty;
  const isMeasured = outputGates.some((name) => pipeline.expect?.[name] !== undefined);
  const isUncounted = lists.some(({ earlier }) => earlier === undefined);
  const unknown = outputs.flatMap((output) => {
    const path = standing.get(output.at);
    // A table's manifest records whether it is partial.
    const isPart = output.earlier === undefined && output.output !== undefined && counts?.isPart(output.output);
    if (path === undefined || isPart) return [];
    const isUnmeasured = isMeasured && measured(output, counts).earlier === undefined;
    const isBlind = isUncounted && runsOf(output, counts).every(({ reads }) => Object.keys(reads).length === 0);
    return isUnmeasured || isBlind ? [path] : [];
  });
  if (unknown.length === 0) return empty;
  const message = `${unknown.join(', ')}: the state folder has no earlier count, so it is unknown whether lists or outputs shrank`;
  return [...empty, { code: 'W_GATE_BASELINE', message }];
}

/** A manifest precedes the state folder, unless its run was partial. */
function measured({ at, output, prepared, earlier }: Output, counts: Counts | undefined): Measured {
  return { at, total: prepared.total, earlier: (earlier?.partial ? undefined : earlier) ?? counts?.ofOutput(output) };
}

/** Returns the largest count of a list by the last run that read it and the outputs' runs: a table may be older than the last run. */
function earlierOf(collection: string, { counts, outputs }: GateInput): Count | undefined {
  const made = outputs.flatMap((output) =>
    runsOf(output, counts).flatMap(({ run, reads: { [collection]: rows } }) => (rows === undefined ? [] : [{ rows, run }])),
  );
  return [counts?.ofList(collection) ?? [], made].flat().toSorted((a, b) => b.rows - a.rows)[0];
}

function runsOf({ output, earlier }: Output, counts: Counts | undefined): readonly Pick<OutputCount, 'run' | 'reads'>[] {
  return [counts?.ofOutput(output) ?? [], earlier ? { run: earlier.runId, reads: earlier.reads } : []].flat();
}

/** Warns of what steps remark, and of outputs without rows where rows were rejected. */
function warnOfEmptyResults({ pipeline, report, ledger, outputs }: GateInput, refused: boolean): readonly Warning[] {
  let left = report.read + report.consistency.repaired - report.consistency.duplicates;
  // A few new rows may well have nothing that a step keeps or finds.
  const remarks = (report.scope ? [] : ledger.steps).flatMap(({ step, tally }): readonly Warning[] => {
    const remark = step.definition.remark?.(step.config, tally, left);
    const { expanded, groups, filtered, duplicates, beyondLimit, unmatched, rejected, grouped } = tally;
    left += expanded + groups - (filtered + duplicates + beyondLimit + unmatched + rejected + grouped);
    if (remark === undefined) return [];
    // A gate or an empty other side explains it already.
    const isKnown =
      remark.code === 'W_STEP_EMPTY'
        ? pipeline.expect?.min_rows !== undefined
        : ledger.sides.some(({ at, rows }) => at === step.at && rows === 0);
    return isKnown ? [] : [{ ...remark, message: `${step.at}: ${remark.message}` }];
  });
  const unkept = report.scope || pipeline.expect?.min_rows !== undefined ? [] : outputs;
  const conditions = unkept.flatMap(({ at, counts }): readonly Warning[] => {
    const remark = nothingKept(counts, left);
    return remark ? [{ ...remark, message: `${at}: where: ${remark.message}` }] : [];
  });
  const empty = refused ? [] : report.sinks.filter(({ total, books }) => total === 0 && books.rejected > 0);
  const message = 'no row was written, and rows were rejected; a lower rejects.max would refuse this';
  return [...remarks, ...conditions, ...empty.map(({ at }): Warning => ({ code: 'W_SINK_EMPTY', message: `${at}: ${message}` }))];
}
