import type { Action, KnownAction } from './action.js';

/** What a store is asked to carry out. */
export interface Commit {
  /** What the actions may change, and nothing else: destinations of one store, as its `resolve` gives them. */
  readonly outputs: readonly string[];
  /** In the order in which they are carried out: data first, what makes readers see it last. */
  readonly actions: readonly Action[];
}

/** A commit of which every action was found to be possible: every file holds what was written to it. Nothing was changed yet. */
export interface PreparedCommit {
  /**
   * Carries out the actions in their order, and makes them durable. An action that an interrupted commit had carried out changes nothing.
   *
   * @throws {SinkError} `E_SINK_WRITE`; `E_SINK_VERIFY` when a file has changed since it was checked, or `E_SINK_FOREIGN` when something was put
   * where a link belongs; the actions before the one named are done.
   */
  commit(): Promise<void>;
}

/** A file of an output that is being written where no reader finds it. */
export interface OutputFile {
  /** Bytes written so far. */
  readonly bytes: number;
  /** Appends bytes, or text as UTF-8. One call at a time. @throws {SinkError} `E_SINK_WRITE`. */
  append(data: string | Uint8Array): Promise<void>;
  /** Makes the contents durable and closes the file. @throws {SinkError} `E_SINK_WRITE`. */
  close(): Promise<void>;
  /** What gives the file its final name, once it is closed. */
  readonly action: Action;
  /** Removes the file, and the folders made for it as far as they are empty. Never rejects. */
  discard(): Promise<void>;
  /**
   * Instead of a commit: gives the closed file the name `<destination>.<label>`, so that a person can look at it.
   *
   * @returns Where it is now.
   * @throws {SinkError} `E_SINK_WRITE`.
   */
  quarantine(label: string): Promise<string>;
}

/** The lock of one output, which is a run's own. */
export interface OutputLock {
  /** Gives a sign of life, which never prolongs the lock of another run. Never rejects. */
  beat(): Promise<void>;
  /** @throws {LeadstreamError} `E_RUN_LOCKED` when it is not ours any more. */
  check(): Promise<void>;
  /** Gives it back if it is still ours, with all that was made for it. Never rejects. */
  release(): Promise<void>;
}

/**
 * Where outputs live. All that readers see there changes through it. Local disk is the only one; `stores.ts` picks a store by the scheme of a
 * path. What every store has to do is held by the suite `test/system/store/contract.ts`.
 */
export interface Store {
  /** As the redo log has it. */
  readonly name: string;
  /** The scheme of its paths, `s3:`; `undefined` for paths without one. */
  readonly scheme: string | undefined;
  /** What an output is there, in words: `files of this machine`. */
  readonly holds: string;
  /** What is wrong with a path of its scheme as somebody writes it, if anything. Names in braces are not judged. */
  problem(path: string): string | undefined;
  /**
   * The one form of a path, as all other functions take it: absolute, and with the scheme. Names in braces stay as they are.
   *
   * @param path With the scheme of the store, and no problem.
   * @param baseDir Folder of this machine that relative paths resolve against.
   */
  resolve(path: string, baseDir: string): string;
  /**
   * Whether writing one destination would write over or into the other, or into what the store has beside it, such as a lock; in whichever order
   * they are given.
   */
  overlap(a: string, b: string): boolean;
  /**
   * Locks an output, existing or not, without waiting. The lock of a run that is dead, or gives no sign of life any more, is taken over.
   *
   * @param runId Run that others are told of.
   * @throws {LeadstreamError} `E_RUN_LOCKED` naming output, run, host, process and time.
   * @throws {SinkError} `E_SINK_PATH` when no lock can be written; `E_SINK_FOREIGN` when something that is none has its place.
   */
  lock(output: string, runId: string): Promise<OutputLock>;
  /**
   * Whether something stands at a destination that a commit would replace. An empty folder is nothing.
   *
   * @throws {SinkError} `E_SINK_PATH` for a place that cannot be looked at.
   */
  isOccupied(destination: string): Promise<boolean>;
  /** The names of its actions, as the redo log has them. */
  readonly supports: readonly string[];
  /**
   * What an action says, be it one that a sink made or one that the redo log kept; `undefined` for what is damaged, or no action of this store.
   * Nothing is looked at.
   */
  actionIn(value: unknown): KnownAction | undefined;
  /**
   * Makes sure that all actions of a commit can be carried out, and makes durable what they start from. Reads every file that has a SHA-256. An
   * action that was carried out before has the result that it has to have.
   *
   * @throws {SinkError} `E_SINK_VERIFY` when a file is not as it was written, `E_SINK_WRITE` when it is not there, `E_SINK_FOREIGN` when
   * something else stands where a link belongs, or a link where a folder of leadstream's does.
   * @throws {LeadstreamError} `E_RUN_FAILED` for an action for none of the outputs.
   */
  prepare(commit: Commit): Promise<PreparedCommit>;
  /**
   * Reserves a file: makes the folders above it, and an empty file that readers do not see. What killed runs left for the same destination is
   * removed, so the caller holds the lock of the output.
   *
   * @param destination A file there stays as it is until the commit.
   * @param mode Permissions of the file. Default `0o600`.
   * @throws {SinkError} `E_SINK_PATH` when nothing can be written there, or when something other than a file is there.
   */
  reserve(destination: string, runId: string, mode?: number): Promise<OutputFile>;
  /**
   * Looks whether a file can be reserved, and changes nothing.
   *
   * @throws {SinkError} `E_SINK_PATH`, as `reserve`.
   */
  look(destination: string): Promise<void>;
}
