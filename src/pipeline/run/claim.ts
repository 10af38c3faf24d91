import { SinkError } from '../../core/index.js';
import { overlap, type Lock, type Store } from '../../store/index.js';

/** Outputs that are a run's own, under the names that they have in it. */
export interface Claim {
  readonly lock: Lock;
  /** Where all of them live. */
  readonly store: Store;
  /** When the run was first started, ISO 8601: when an interrupted run of this pipeline was whose pages are used. */
  readonly firstStart: string;
  /** The UTC date of that, `YYYY-MM-DD`. */
  readonly date: string;
  /** What the sinks publish. Absolute paths. */
  readonly outputs: readonly string[];
  /** Absolute path of the rejects; `undefined` when they are only counted. */
  readonly rejects: string | undefined;
}

/** What a run locks and publishes. Absolute paths. */
export function pathsOf({ outputs, rejects }: Pick<Claim, 'outputs' | 'rejects'>): readonly string[] {
  return rejects === undefined ? outputs : [...outputs, rejects];
}

/** @throws {SinkError} `E_SINK_PATH` for two outputs that are one, or of which one is within the other. */
export function refuseOverlaps(paths: readonly string[]): void {
  paths.forEach((path, index) => {
    const first = paths.slice(0, index).find((other) => overlap(other, path));
    if (first === undefined) return;
    const remedy = 'two outputs need two places';
    throw new SinkError('E_SINK_PATH', `${path} is ${first} through a link, or one is within the other; ${remedy}`);
  });
}

/**
 * What is in the state folder is read as leadstream's own, and written over.
 *
 * @throws {SinkError} `E_SINK_PATH`.
 */
export function refuseIn(stateDir: string, paths: readonly string[]): void {
  const path = paths.find((output) => overlap(stateDir, output));
  if (path === undefined) return;
  throw new SinkError(
    'E_SINK_PATH',
    `${path} is in the state folder ${stateDir}, or around it; write to another place, or choose another one by --state-dir`,
  );
}
