import type { KnownAction } from '../action.js';

/** An action of local disk. A kind of them is a class in a file of its own, and a line in `actions.ts`. */
export interface LocalAction extends KnownAction {
  /** Where readers find its result. */
  readonly destination: string;
  /** The folders of the names that it changes. */
  readonly folders: readonly string[];
  /**
   * Makes sure that it can be carried out, or was before.
   *
   * @throws {SinkError} As `Store.prepare`.
   * @throws The system's error; the caller knows the words for it.
   */
  prepare(): Promise<PreparedAction>;
}

/** An action that was found to be possible, or to be done. */
export interface PreparedAction {
  /** The folder of what it starts from, when that is there. */
  readonly source: string | undefined;
  /** Changes nothing when it was carried out before. @throws As `LocalAction.prepare`. */
  commit(): Promise<void>;
}
