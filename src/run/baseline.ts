import type { Warning, WarningCode } from '../core/index.js';
import type { Count, Counts, OutputCount } from './counts.js';
import type { Output } from './outputs.js';
import { gatesIn, type Measured } from '../plan/index.js';
import type { GateInput } from './gate-input.js';
import type { ListCount } from './shrink.js';

/**
 * Returns the size of an output now and before. The earlier size comes from its manifest, unless that is
 * of a partial run; otherwise from the counts of the last run.
 */
export function measured(
  { at, output, prepared, earlier }: Output,
  { counts, allowShrink }: Pick<GateInput, 'counts' | 'allowShrink'>,
): Measured {
  const before = (earlier?.partial ? undefined : earlier) ?? keptOf(output, counts);
  return { at, total: prepared.total, earlier: before, mayShrink: allowShrink };
}

/**
 * Returns the earlier size of a list: the largest count known from the last run that read it and from the runs of the outputs, regardless of account
 * and address. The existing table may be older than the last run.
 */
export function earlierOf(collection: string, counts: Counts, outputs: readonly Output[]): Count | undefined {
  const made = outputs.flatMap((output) =>
    runsOf(output, counts).flatMap(({ run, reads: { [collection]: rows } }) => (rows === undefined ? [] : [{ rows, run }])),
  );
  return [counts.ofList(collection) ?? [], made].flat().toSorted((a, b) => b.rows - a.rows)[0];
}

/**
 * Warns about existing outputs whose size, or whose sources' sizes, are unknown: gates have nothing to compare with. A list
 * that the run of an output did not read is new in the pipeline.
 */
export function warnOfUnknown(
  { pipeline, report, standing, outputs, counts }: GateInput,
  lists: readonly ListCount[],
  sizes: readonly Measured[],
): readonly Warning[] {
  if (report.partial) return [];
  const isMeasured = gatesIn(pipeline.expect).some(({ judges }) => judges === 'outputs');
  const isUncounted = lists.some(({ earlier }) => earlier === undefined);
  const unknown = outputs.flatMap((output) => {
    const path = standing.get(output.at);
    // The manifest of a table records whether it is partial.
    const isPart = output.earlier === undefined && output.output !== undefined && counts.isPart(output.output);
    if (path === undefined || isPart) return [];
    const isUnmeasured = isMeasured && sizes.some(({ at, earlier }) => at === output.at && earlier === undefined);
    const isBlind = isUncounted && runsOf(output, counts).every(({ reads }) => Object.keys(reads).length === 0);
    return isUnmeasured || isBlind ? [path] : [];
  });
  if (unknown.length === 0) return [];
  const what = `${unknown.join(', ')} ${unknown.length === 1 ? 'exists' : 'exist'}, but the state folder has no earlier count for ${unknown.length === 1 ? 'it' : 'them'}`;
  return [{ code: 'W_GATE_BASELINE', message: `${what}: whether lists or outputs shrank is unknown` }];
}

/** Warnings about missing earlier counts: publishing once in spite of them creates counts to compare with. */
export const ofNoMemory: ReadonlySet<WarningCode> = new Set<WarningCode>(['W_GATE_BASELINE', 'W_SOURCE_EMPTY']);

/** Returns the known runs of an output: the last one, and that of its table. */
function runsOf({ output, earlier }: Output, counts: Counts): readonly Pick<OutputCount, 'run' | 'reads'>[] {
  return [keptOf(output, counts) ?? [], earlier ? { run: earlier.runId, reads: earlier.reads } : []].flat();
}

function keptOf(output: string | undefined, counts: Counts): OutputCount | undefined {
  return output === undefined ? undefined : counts.ofOutput(output);
}
