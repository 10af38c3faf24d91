import { GateError, type Violation } from '../../core/index.js';
import type { Published } from '../../lake/index.js';
import { storeOf } from '../../store/index.js';
import type { Plan } from '../spec/plan.js';

/**
 * Refuses to replace outputs by a part of a list, before anything is requested.
 *
 * @param standing Where something whole stands, by the place of the sink.
 * @throws {GateError} `E_GATE_PARTIAL`, with a line for each.
 */
export function refuseReplacing({ stoppedBy, sinks }: Pick<Plan, 'stoppedBy' | 'sinks'>, standing: ReadonlyMap<string, string>): void {
  if (!stoppedBy) return;
  const violations = sinks.flatMap(({ at, adds }): readonly Violation[] => {
    const path = standing.get(at);
    if (path === undefined || adds) return [];
    const message = `${at}: ${path} exists, and ${stoppedBy.at} lets the run replace it by a part`;
    return [{ code: 'E_GATE_PARTIAL', message }];
  });
  const failure = GateError.of(violations);
  if (failure) throw failure;
}

/**
 * Where something whole stands that a run replaces or adds to, by the place of the sink. An empty folder is nothing, and a table whose
 * manifest says that it is a part is not whole; of a file nothing tells.
 *
 * @param paths Where the sinks that publish something do so, in their order. Absolute.
 * @param earlier What stands at the outputs of all sinks, as manifests tell.
 * @throws {SinkError} `E_SINK_PATH` for a place that cannot be looked at.
 */
export async function standingOutputs(
  { sinks }: Pick<Plan, 'sinks'>,
  paths: readonly string[],
  earlier: readonly (Published | undefined)[],
): Promise<ReadonlyMap<string, string>> {
  const publishing = sinks.flatMap(({ at, output }, index) => (output === undefined ? [] : [{ at, published: earlier[index] }]));
  const found = publishing.map(async ({ at, published }, index): Promise<readonly (readonly [string, string])[]> => {
    const path = paths[index];
    const isThere = path !== undefined && (published ? !published.partial : await storeOf([path]).isOccupied(path));
    return isThere ? [[at, path]] : [];
  });
  return new Map((await Promise.all(found)).flat());
}
