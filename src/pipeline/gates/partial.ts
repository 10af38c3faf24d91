import { lstat } from 'node:fs/promises';
import { GateError, type Violation } from '../../core/index.js';
import type { Published } from '../../lake/index.js';
import { attempt, unlessMissing } from '../../store/index.js';
import type { Plan } from '../spec/plan.js';

/**
 * Refuses to replace outputs by a part of a list, before anything is requested. A table whose manifest says that it is a part itself may
 * be replaced; of a file nothing tells.
 *
 * @param paths Where the sinks that publish something do so, in their order. Absolute.
 * @param earlier What stands at the outputs of all sinks, as manifests tell.
 * @throws {GateError} `E_GATE_PARTIAL`, with a line for each.
 * @throws {SinkError} `E_SINK_PATH` for a place that cannot be looked at.
 */
export async function refuseReplacing(
  { stoppedBy, sinks }: Pick<Plan, 'stoppedBy' | 'sinks'>,
  paths: readonly string[],
  earlier: readonly (Published | undefined)[],
): Promise<void> {
  if (!stoppedBy) return;
  const publishing = sinks.flatMap((sink, index) => (sink.output === undefined ? [] : [{ sink, published: earlier[index] }]));
  const violations: Violation[] = [];
  for (const [index, { sink, published }] of publishing.entries()) {
    const path = paths[index];
    if (path === undefined || sink.adds || published?.partial === true || !(published || (await exists(path)))) continue;
    const message = `${sink.at}: ${path} exists, and ${stoppedBy.at} lets the run replace it by a part; write to another place, or run --allow-partial`;
    violations.push({ code: 'E_GATE_PARTIAL', message });
  }
  const failure = GateError.of(violations);
  if (failure) throw failure;
}

/** What cannot be looked at counts as nothing no more than what is there. */
async function exists(path: string): Promise<boolean> {
  return (await attempt('E_SINK_PATH', `cannot read ${path}`, () => lstat(path).catch(unlessMissing(undefined)))) !== undefined;
}
