import { GateError, type Violation } from '../core/index.js';
import type { Published } from '../lake/index.js';
import { storeOf } from '../store/index.js';
import type { Plan } from '../plan/index.js';

/**
 * Refuses to replace outputs by a partial list, before anything is requested.
 *
 * @param standing Paths of existing complete outputs, by the place of the sink.
 * @throws {GateError} `E_GATE_PARTIAL`, with a line for each.
 */
export function refuseReplacing({ stoppedBy, sinks }: Pick<Plan, 'stoppedBy' | 'sinks'>, standing: ReadonlyMap<string, string>): void {
  if (!stoppedBy) return;
  const violations = sinks.flatMap(({ at, adds }): readonly Violation[] => {
    const path = standing.get(at);
    if (path === undefined || adds) return [];
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
    const isThere = path !== undefined && (published ? !published.partial : await storeOf([path]).isOccupied(path));
    return isThere ? [[at, path]] : [];
  });
  return new Map((await Promise.all(found)).flat());
}
