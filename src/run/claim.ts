import { SinkError } from '../core/index.js';
import { overlap, type Lock, type Store } from '../store/index.js';

/** The outputs locked by a run, with their paths in this run. */
export interface Claim {
  readonly lock: Lock;
  /** The store of all outputs. */
  readonly store: Store;
  /** When the run was first started, ISO 8601: the start of the interrupted run of this pipeline whose pages are used, if any. */
  readonly firstStart: string;
  /** The UTC date of `firstStart`, `YYYY-MM-DD`. */
  readonly date: string;
  /** The outputs of the sinks. Absolute paths. */
  readonly outputs: readonly string[];
  /** Absolute path of the rejects; `undefined` if they are only counted. */
  readonly rejects: string | undefined;
}

/** Returns the paths that a run locks and publishes. Absolute paths. */
export function pathsOf({ outputs, rejects }: Pick<Claim, 'outputs' | 'rejects'>): readonly string[] {
  return rejects === undefined ? outputs : [...outputs, rejects];
}

/** @throws {SinkError} `E_SINK_PATH` for two outputs that are the same, or one within the other. */
export function refuseOverlaps(paths: readonly string[]): void {
  paths.forEach((path, index) => {
    const first = paths.slice(0, index).find((other) => overlap(other, path));
    if (first === undefined) return;
    const remedy = 'give each output its own path';
    throw new SinkError('E_SINK_PATH', `${path} and ${first} are the same through a link, or one is inside the other; ${remedy}`);
  });
}

/**
 * Refuses outputs in or around the state folder, whose content is trusted as leadstream's own, and overwritten.
 *
 * @throws {SinkError} `E_SINK_PATH`.
 */
export function refuseIn(stateDir: string, paths: readonly string[]): void {
  const path = paths.find((output) => overlap(stateDir, output));
  if (path === undefined) return;
  throw new SinkError(
    'E_SINK_PATH',
    `${path} is inside the state folder ${stateDir}, or contains it; write somewhere else, or choose another state folder with --state-dir`,
  );
}
