/**
 * One step of a commit, as plain data that can be stored as JSON. Sinks create actions, the redo log stores them, and the store of the outputs carries them
 * out. All other properties are up to the store. Adding one, or changing the meaning of one, requires a new version of the redo log.
 *
 * @example
 * { action: 'rename', from: '/lake/.leads.csv.RUN.partial', to: '/lake/leads.csv', file: { bytes: 3, sha256: '11507a…' } }
 * { action: 'link', at: '/lake/leads', to: '.leads.runs/RUN', draft: '/lake/.leads.runs/RUN.link' }
 */
export interface Action {
  /** The kind of action, by a name that its store knows. */
  readonly action: string;
}

/** An action parsed by its store. Parsing does not access the disk. */
export interface KnownAction {
  /** Description for a message: `rename A to B`. */
  readonly words: string;
  /** Returns whether the action may change an output. */
  belongsTo(output: string): boolean;
}

/** What a store carries out. */
export interface Commit {
  /** The only outputs that the actions may change: destinations of one store, as returned by its `resolve`. */
  readonly outputs: readonly string[];
  /** In the order in which they are carried out: data first, what makes it visible to readers last. */
  readonly actions: readonly Action[];
}

/** A commit whose actions can all be carried out: every file contains what was written to it. Nothing has been changed yet. */
export interface PreparedCommit {
  /**
   * Carries out the actions in order, and makes them durable. Actions already carried out by an interrupted commit change nothing.
   *
   * @throws {SinkError} `E_SINK_WRITE`; `E_SINK_VERIFY` if a file has changed since it was checked, or `E_SINK_FOREIGN` if something was put
   * where a link belongs. The actions before the one named are done.
   */
  commit(): Promise<void>;
}

/** A file of an output that is being written where readers do not find it. */
export interface OutputFile {
  /** Bytes written so far. */
  readonly bytes: number;
  /** Appends bytes, or text as UTF-8. One call at a time. @throws {SinkError} `E_SINK_WRITE`. */
  append(data: string | Uint8Array): Promise<void>;
  /** Makes the contents durable and closes the file. @throws {SinkError} `E_SINK_WRITE`. */
  close(): Promise<void>;
  /** The action that gives the file its final name, once it is closed. */
  readonly action: Action;
  /** Removes the file, and the folders created for it if they are empty. Never rejects. */
  discard(): Promise<void>;
  /**
   * Renames the closed file to `<destination>.<label>` instead of committing it, so that someone can inspect it.
   *
   * @returns The new path.
   * @throws {SinkError} `E_SINK_WRITE`.
   */
  quarantine(label: string): Promise<string>;
}

/** The lock of one output, held by one run. */
export interface OutputLock {
  /** Signals that the run is alive; never prolongs the lock of another run. Never rejects. */
  beat(): Promise<void>;
  /** Checks that the lock is still ours. @throws {LeadstreamError} `E_RUN_LOCKED` if it is not. */
  check(): Promise<void>;
  /** Releases the lock if it is still ours, and removes what was created for it. Never rejects. */
  release(): Promise<void>;
}

/**
 * A place where outputs live. Every change visible to readers goes through it. Local disk is the only store; `stores.ts` picks one by the scheme of a path. The
 * suite `test/system/store/contract.ts` specifies what every store must do.
 */
export interface Store {
  /** Its name in the redo log. */
  readonly name: string;
  /** The scheme of its paths, `s3:`; `undefined` for paths without one. */
  readonly scheme: string | undefined;
  /** What its outputs are, in words: `files of this machine`. */
  readonly holds: string;
  /**
   * Returns the canonical form of a path, as all other functions expect it: absolute, with the scheme. Names in braces are kept.
   *
   * @param path With the scheme of the store, and valid.
   * @param baseDir Folder of this machine that relative paths resolve against.
   */
  resolve(path: string, baseDir: string): string;
  /**
   * Returns whether writing one destination would write over or into the other, or into what the store has next to
   * it, such as a lock. The order of the arguments does not matter.
   */
  overlap(a: string, b: string): boolean;
  /**
   * Locks an output, existing or not, without waiting. Takes over the lock of a run that is dead or no longer shows signs of life.
   *
   * @param runId Run to name to others.
   * @throws {LeadstreamError} `E_RUN_LOCKED` naming output, run, host, process and time.
   * @throws {SinkError} `E_SINK_PATH` if no lock can be written; `E_SINK_FOREIGN` if something other than a lock is in its place.
   */
  lock(output: string, runId: string): Promise<OutputLock>;
  /**
   * Returns whether a destination contains something that a commit would replace. An empty folder counts as nothing.
   *
   * @throws {SinkError} `E_SINK_PATH` if it cannot be examined.
   */
  isOccupied(destination: string): Promise<boolean>;
  /** Parses an action from a sink or from the redo log; returns `undefined` if it is damaged, or not an action of this store. Does not access the store. */
  actionIn(value: unknown): KnownAction | undefined;
  /**
   * Checks that all actions of a commit can be carried out, and makes their sources durable. Reads every file that has a
   * SHA-256. For an action already carried out, checks its result.
   *
   * @throws {SinkError} `E_SINK_VERIFY` if a file differs from what was written, `E_SINK_WRITE` if it is missing, `E_SINK_FOREIGN` if something else is where a
   * link belongs, or a link is where a folder of leadstream belongs.
   * @throws {LeadstreamError} `E_RUN_FAILED` for an action that is for none of the outputs.
   */
  prepare(commit: Commit): Promise<PreparedCommit>;
  /**
   * Reserves a file: creates the folders above it, and an empty file that readers do not see. Removes what killed runs left for the same
   * destination, so the caller must hold the lock of the output.
   *
   * @param destination An existing file stays unchanged until the commit.
   * @param mode Permissions of the file. Default `0o600`.
   * @throws {SinkError} `E_SINK_PATH` if the destination is not writable, or is something other than a file.
   */
  reserve(destination: string, runId: string, mode?: number): Promise<OutputFile>;
}

/** Returns the output that an action changes; `undefined` if it changes none of them. */
export function outputOf(outputs: readonly string[], action: KnownAction): string | undefined {
  return outputs.find((output) => action.belongsTo(output));
}
