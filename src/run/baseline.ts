import { amount, amountOf, GateError, type Violation, type Warning, type WarningCode } from '../core/index.js';
import type { Published } from '../lake/index.js';
import { defaultReadShrink, gatesIn, percent, type Expect, type Measured, type Pipeline, type Plan } from '../plan/index.js';
import { isOccupied } from '../store/index.js';
import type { Count, Counts, OutputCount } from './counts.js';
import type { Output } from './outputs.js';
import type { GateResult, RunReport } from './report.js';

/** A list that was read. */
export interface ListCount {
  /** What it was read as: the collection of the source, or the step that joins it. */
  readonly at: string;
  /** Name in messages. */
  readonly name: string;
  readonly collection: string;
  /** All of its rows, before any steps. */
  readonly rows: number;
  /** Its earlier size, if known. */
  readonly earlier: Count | undefined;
}

/** What earlier runs left: their outputs and counts. */
export interface Baseline {
  readonly outputs: readonly Output[];
  readonly counts: Counts;
  /** Paths of complete outputs that existed before the run, by the place of the sink. */
  readonly standing: ReadonlyMap<string, string>;
}

/**
 * Creates the result of a gate.
 *
 * @param compared Whether there was anything to compare with. Default `true`.
 * @param allowed Whether an option overrides a refusal. Default `false`.
 */
export function gateResult(
  gate: string,
  at: string | undefined,
  violations: readonly Violation[],
  { compared = true, allowed = false }: { readonly compared?: boolean; readonly allowed?: boolean } = {},
): GateResult {
  const outcome = violations.length > 0 ? (allowed ? 'overridden' : 'refused') : compared ? 'passed' : 'not compared';
  return { gate, at, outcome, violations };
}

/**
 * Refuses to replace outputs by a partial list, before anything is requested.
 *
 * @param standing Paths of existing complete outputs, by the place of the sink.
 * @throws {GateError} `E_GATE_PARTIAL`, with a line for each.
 */
export function refuseReplacing({ stoppedBy, sinks }: Pick<Plan, 'stoppedBy' | 'sinks'>, standing: ReadonlyMap<string, string>): void {
  if (!stoppedBy) return;
  const violations = sinks.flatMap(({ at, definition, config }): readonly Violation[] => {
    const path = standing.get(at);
    if (path === undefined || definition.adds?.(config)) return [];
    const message = `${at}: ${path} exists, and ${stoppedBy.at} would make the run replace it with partial data`;
    return [{ code: 'E_GATE_PARTIAL', message }];
  });
  const failure = GateError.of(violations);
  if (failure) throw failure;
}

/**
 * Returns the paths of complete outputs that a run replaces or adds to, by the place of the sink. An empty folder counts as nothing. A table whose manifest
 * marks it as partial is not complete; for a file this cannot be determined.
 *
 * @param paths Paths of the sinks that publish something, in order. Absolute.
 * @param earlier What is at the outputs of all sinks, according to their manifests.
 * @throws {SinkError} `E_SINK_PATH` if a path cannot be examined.
 */
export async function standingOutputs(
  { sinks }: Pick<Plan, 'sinks'>,
  paths: readonly string[],
  earlier: readonly (Published | undefined)[],
): Promise<ReadonlyMap<string, string>> {
  const publishing = sinks.flatMap(({ at, output }, index) => (output === undefined ? [] : [{ at, published: earlier[index] }]));
  const found = publishing.map(async ({ at, published }, index): Promise<readonly (readonly [string, string])[]> => {
    const path = paths[index];
    const isThere = path !== undefined && (published ? !published.partial : await isOccupied(path));
    return isThere ? [[at, path]] : [];
  });
  return new Map((await Promise.all(found)).flat());
}

/**
 * Returns the size of an output now and before. The earlier size comes from its manifest, unless that is of a partial run; otherwise from the counts of the
 * last run.
 */
export function measured({ at, output, prepared, earlier }: Output, counts: Counts): Measured {
  return { at, total: prepared.total, earlier: (earlier?.partial ? undefined : earlier) ?? keptOf(output, counts) };
}

/**
 * Returns the earlier size of a list: the largest count known from the last run that read it and from the runs of the outputs, regardless of account
 * and address. The existing table may be older than the last run.
 */
export function earlierOf(collection: string, { counts, outputs }: Baseline): Count | undefined {
  const made = outputs.flatMap((output) =>
    runsOf(output, counts).flatMap(({ run, reads: { [collection]: rows } }) => (rows === undefined ? [] : [{ rows, run }])),
  );
  return [counts.ofList(collection) ?? [], made].flat().toSorted((a, b) => b.rows - a.rows)[0];
}

/**
 * Checks whether the lists have shrunk too much to publish: one result per list.
 *
 * @param allowShrink Whether to override refusals this once.
 */
export function shrinkGates(lists: readonly ListCount[], expect: Expect = {}, allowShrink: boolean): readonly GateResult[] {
  return lists.map((list) => {
    const options = { compared: list.earlier !== undefined, allowed: allowShrink };
    const result = gateResult('max_read_shrink', list.at, refuseShrunk(list, expect.max_read_shrink), options);
    return list.earlier === undefined ? result : { ...result, rows: list.rows, rowsBefore: list.earlier.rows };
  });
}

function refuseShrunk({ name, collection, rows, earlier }: ListCount, allowed: Expect['max_read_shrink']): readonly Violation[] {
  const most = typeof allowed === 'number' ? allowed : (allowed?.[collection] ?? defaultReadShrink);
  const lost = earlier === undefined ? 0 : earlier.rows - rows;
  // A share like 29% is not an exact number.
  if (earlier === undefined || lost <= (most + 1e-9) * earlier.rows) return [];
  const enough = `expect.max_read_shrink: { ${collection}: ${Math.ceil((100 * lost) / earlier.rows)}% }`;
  return [
    {
      code: 'E_GATE_SHRINK',
      message: `${name}: ${amountOf(rows, 'row')} ${rows === 1 ? 'was' : 'were'} read, and ${amount(earlier.rows)} by the earlier run ${earlier.run}; a drop of more than ${percent(most)} is refused; if it is right, run once with --allow-shrink, or set ${enough}`,
    },
  ];
}

/**
 * Warns of empty lists for which no earlier count is known, and of existing outputs whose size, or whose sources' sizes, are unknown: gates have nothing to
 * compare with. A list that the run of an output did not read is new in the pipeline.
 */
export function warnOfUnknown(
  { expect }: Pipeline,
  { partial }: RunReport,
  { standing, outputs, counts }: Baseline,
  lists: readonly ListCount[],
): readonly Warning[] {
  const empty = lists.flatMap(({ name, rows, earlier }): readonly Warning[] => {
    const message = `${name}: no rows were read, and there is no earlier count to compare with`;
    return rows === 0 && earlier === undefined ? [{ code: 'W_SOURCE_EMPTY', message }] : [];
  });
  if (partial) return empty;
  const isMeasured = gatesIn(expect).some(({ judges }) => judges === 'outputs');
  const isUncounted = lists.some(({ earlier }) => earlier === undefined);
  const unknown = outputs.flatMap((output) => {
    const path = standing.get(output.at);
    // The manifest of a table records whether it is partial.
    const isPart = output.earlier === undefined && output.output !== undefined && counts.isPart(output.output);
    if (path === undefined || isPart) return [];
    const isUnmeasured = isMeasured && measured(output, counts).earlier === undefined;
    const isBlind = isUncounted && runsOf(output, counts).every(({ reads }) => Object.keys(reads).length === 0);
    return isUnmeasured || isBlind ? [path] : [];
  });
  if (unknown.length === 0) return empty;
  const [exist, them] = unknown.length === 1 ? ['exists', 'it'] : ['exist', 'them'];
  const what = `${unknown.join(', ')} ${exist}, but the state folder has no earlier count for ${them}`;
  return [...empty, { code: 'W_GATE_BASELINE', message: `${what}: whether lists or outputs shrank is unknown` }];
}

/** Warnings about missing earlier counts: publishing once in spite of them creates counts to compare with. */
export const uncountedWarnings: ReadonlySet<WarningCode> = new Set<WarningCode>(['W_GATE_BASELINE', 'W_SOURCE_EMPTY']);

/** Returns the known runs of an output: the last one, and that of its table. */
function runsOf({ output, earlier }: Output, counts: Counts): readonly Pick<OutputCount, 'run' | 'reads'>[] {
  return [keptOf(output, counts) ?? [], earlier ? { run: earlier.runId, reads: earlier.reads } : []].flat();
}

function keptOf(output: string | undefined, counts: Counts): OutputCount | undefined {
  return output === undefined ? undefined : counts.ofOutput(output);
}
