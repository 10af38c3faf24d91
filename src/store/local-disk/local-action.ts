import type { KnownAction } from '../action.js';

/** An action of local disk. Each kind is a class in its own file, listed in `actions.ts`. */
export interface LocalAction extends KnownAction {
  /** Where readers find its result. */
  readonly destination: string;
  /** The folders whose entries it changes. */
  readonly folders: readonly string[];
  /**
   * Checks that it can be carried out, or already was.
   *
   * @throws {SinkError} As `Store.prepare`.
   * @throws The system's error, for the caller to describe.
   */
  prepare(): Promise<PreparedAction>;
}

/** An action that can be carried out, or already was. */
export interface PreparedAction {
  /** The folder of its source, if that exists. */
  readonly source: string | undefined;
  /** Carries out the action; does nothing if it already was. @throws As `LocalAction.prepare`. */
  commit(): Promise<void>;
}
