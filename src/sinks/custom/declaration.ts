import type { OutputColumn, Row } from '../../core/index.js';
import type { Extension, ExtensionDeclaration } from '../../options/index.js';
import type { SinkContext, SinkWriter } from '../sink.js';

/** What a custom sink receives in addition to its options. */
export interface CustomSinkContext extends Pick<SinkContext, 'at' | 'pipeline' | 'runId' | 'baseDir'> {
  /** UTC date on which the run was first started, even if it was resumed: `YYYY-MM-DD`. */
  readonly runDate: string;
  /** Aborted as soon as nothing will be published any more, to cut short a slow `write`; `abort` is called afterwards. */
  readonly signal: AbortSignal;
}

/** What a custom sink is to publish. */
export interface ToCommit {
  /** Rows that were written. */
  readonly rows: number;
  /**
   * Whether a limit stopped the read, so that the rows may be only part of the list. For an observable of pages it is `false` when the observable
   * completes, since anything missing upstream cannot be detected.
   */
  readonly partial: boolean;
}

/**
 * One output of one run. Calls are made one at a time, and the promises they return are awaited: `begin`, `write`…, then `commit` or `abort`.
 *
 * - `commit` is called once, when all rows are read and written, all checks and gates have passed, and all other outputs are ready. Custom sinks commit one
 *   after another, in the order of the file; then files are published. If a commit fails, no file and no later sink is published. Earlier ones stay as they
 *   are, and the error names them: the next run passes them all rows again.
 * - `abort` is called once, whenever `commit` was not called or failed. By then a running write has ended, or had ten seconds to end.
 * - Neither is called if the process is killed. The next run opens the sink again, and writes all rows from the first:
 *   it must not matter that some or all of them already exist.
 */
export interface CustomWriter<T> {
  /** Receives the columns before the first row, even if there are no rows. */
  begin?(columns: readonly OutputColumn[]): unknown;
  /** Takes the rows of one page. The next page follows when the promise has resolved, so the source is as fast as the sink. */
  write(rows: readonly T[], page: { readonly number: number }): unknown;
  /** Makes what was written visible. */
  commit(written: ToCommit): unknown;
  /** Undoes what was written. */
  abort(): unknown;
}

/** The rows that a sink receives: as texts, or in the declared types of the columns. */
export type WrittenRow<T extends 'text' | 'typed'> = T extends 'typed' ? Row : Readonly<Record<string, string | null>>;

/**
 * Declares a custom sink.
 *
 * @typeParam I Options as passed by the caller. @typeParam O Options after validation.
 */
export interface SinkDeclaration<I, O, T extends 'text' | 'typed'> extends ExtensionDeclaration<I, O> {
  /**
   * Whether values are the service's texts (`integer` `'41'`), or have their declared type (`41n`). A row with a value that does not cast is
   * rejected, or treated according to `on_error`. Default `text`.
   */
  readonly types?: T | undefined;
  /** Opens an output before the first request, so that an unwritable destination is reported immediately. */
  open(options: O, context: CustomSinkContext): CustomWriter<WrittenRow<T>> | PromiseLike<CustomWriter<WrittenRow<T>>>;
}

/** Any declaration, as seen by the code that runs it. */
export type AnySink = SinkDeclaration<unknown, unknown, 'text' | 'typed'>;

/**
 * The result of `defineSink`: a function that opens the sink, for `writeTo`, and a definition that pipeline files can name.
 *
 * @typeParam I As in `SinkDeclaration`.
 */
export interface CustomSink<I = never> extends Extension<'sink', unknown> {
  /**
   * Opens the sink.
   *
   * @throws {SinkError} `E_SINK_CONFIG` for invalid options; `E_SINK_FUNCTION` if a function of the sink throws, with the thrown value as the `cause`.
   */
  (...options: undefined extends I ? [options?: I] : [options: I]): Promise<SinkWriter>;
}
