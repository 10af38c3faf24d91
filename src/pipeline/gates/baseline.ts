import type { Warning, WarningCode } from '../../core/index.js';
import type { Count, Counts, OutputCount } from '../run/counts.js';
import type { Output } from '../run/outputs.js';
import { gatesIn } from './expect.js';
import type { Measured } from './expect/gate.js';
import type { GateInput } from './gate-input.js';
import type { ListCount } from './shrink.js';

/** An output beside what it held before: a manifest tells what is there, unless that is a part; of other outputs the last run remembers. */
export function measured(
  { at, output, prepared, earlier }: Output,
  { counts, allowShrink }: Pick<GateInput, 'counts' | 'allowShrink'>,
): Measured {
  const before = (earlier?.partial ? undefined : earlier) ?? keptOf(output, counts);
  return { at, total: prepared.total, earlier: before, mayShrink: allowShrink };
}

/**
 * What a list was before: the most that is known of it by the last run that read it, and by the runs of the outputs, whatever account and
 * address they read it by. The table that is there can be that of an earlier run than the last one.
 */
export function earlierOf(collection: string, counts: Counts, outputs: readonly Output[]): Count | undefined {
  const made = outputs.flatMap((output) =>
    runsOf(output, counts).flatMap(({ run, reads: { [collection]: rows } }) => (rows === undefined ? [] : [{ rows, run }])),
  );
  return [counts.ofList(collection) ?? [], made].flat().toSorted((a, b) => b.rows - a.rows)[0];
}

/**
 * Outputs that stand there without a count of them, or of what they were made of: gates that compare see nothing. A list that their run did
 * not read is new in the pipeline.
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
    // A manifest says by itself that a table is a part.
    const isPart = output.earlier === undefined && output.output !== undefined && counts.isPart(output.output);
    if (path === undefined || isPart) return [];
    const isUnmeasured = isMeasured && sizes.some(({ at, earlier }) => at === output.at && earlier === undefined);
    const isBlind = isUncounted && runsOf(output, counts).every(({ reads }) => Object.keys(reads).length === 0);
    return isUnmeasured || isBlind ? [path] : [];
  });
  if (unknown.length === 0) return [];
  const what = `${unknown.join(', ')} ${unknown.length === 1 ? 'stands' : 'stand'} there, and no earlier count for it is in the state folder`;
  return [{ code: 'W_GATE_BASELINE', message: `${what}: whether lists or outputs shrank is not known` }];
}

/** Warnings of what nobody remembers: who publishes once in spite of them has a count to compare with from then on. */
export const ofNoMemory: ReadonlySet<WarningCode> = new Set<WarningCode>(['W_GATE_BASELINE', 'W_SOURCE_EMPTY']);

/** The runs that are known of an output: the last one, and that of its table. */
function runsOf({ output, earlier }: Output, counts: Counts): readonly Pick<OutputCount, 'run' | 'reads'>[] {
  return [keptOf(output, counts) ?? [], earlier ? { run: earlier.runId, reads: earlier.reads } : []].flat();
}

function keptOf(output: string | undefined, counts: Counts): OutputCount | undefined {
  return output === undefined ? undefined : counts.ofOutput(output);
}
