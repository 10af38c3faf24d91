import type { OutputColumn, Row } from '../../core/index.js';
import type { Extension, ExtensionDeclaration } from '../../options/index.js';
import type { SinkContext, SinkWriter } from '../sink.js';

/** What a sink of one's own gets besides its options. */
export interface CustomSinkContext extends Pick<SinkContext, 'at' | 'pipeline' | 'runId' | 'baseDir'> {
  /** UTC date on which the run was first started, also when it was resumed: `YYYY-MM-DD`. */
  readonly runDate: string;
  /** Aborted as soon as nothing will be published any more, for what takes long under `write`; `abort` comes behind it. */
  readonly signal: AbortSignal;
}

/** What a sink of one's own is to publish. */
export interface ToCommit {
  /** Rows that were written. */
  readonly rows: number;
  /**
   * Whether a limit stopped the read, so that they may be a part of the list. Of an observable of pages it is `false` when the observable
   * completes: what is missing in front of it, nobody can tell.
   */
  readonly partial: boolean;
}

/**
 * One output of one run. Calls come one at a time, and promises that they give are waited for: `begin`, `write`…, then `commit` or `abort`.
 *
 * - `commit` is called once, when all rows were read and written, all checks and gates passed, and all other outputs are ready. Sinks of one's
 *   own commit one after another, in the order of the file, and then files are published. If a commit fails, no file and no later sink is
 *   published; earlier ones stay as they are, and the error names them: the next run gives them all rows again.
 * - `abort` is called once, whenever `commit` was not called or failed. A write that is under way then has ended, or had ten seconds to.
 * - Neither is called when the process is killed. The next run opens the sink again, and writes all rows from the first: it must not
 *   matter that some, or all, were there before.
 */
export interface CustomWriter<T> {
  /** Told the columns of the rows before the first one, also when there are no rows. */
  begin?(columns: readonly OutputColumn[]): unknown;
  /** Takes the rows of one page. The next ones come when the promise has resolved, so the source is as fast as the sink. */
  write(rows: readonly T[], page: { readonly number: number }): unknown;
  /** Makes what was written visible. */
  commit(written: ToCommit): unknown;
  /** Takes back what was written. */
  abort(): unknown;
}

/** The rows that a sink gets: of texts, or of the declared types of the columns. */
export type WrittenRow<T extends 'text' | 'typed'> = T extends 'typed' ? Row : Readonly<Record<string, string | null>>;

/** @typeParam I Options as they are given. @typeParam O Options as they were checked. */
export interface SinkDeclaration<I, O, T extends 'text' | 'typed'> extends ExtensionDeclaration<I, O> {
  /**
   * Whether values are the service's texts (`integer` `'41'`), or have their declared type (`41n`); one that does not cast is rejected, or what
   * `on_error` says. Default `text`.
   */
  readonly types?: T | undefined;
  /** Opens an output, before the first request, so that a destination which cannot be written is told at once. */
  open(options: O, context: CustomSinkContext): CustomWriter<WrittenRow<T>> | PromiseLike<CustomWriter<WrittenRow<T>>>;
}

/** Any declaration, as those who run it see it. */
export type AnySink = SinkDeclaration<unknown, unknown, 'text' | 'typed'>;

/**
 * What `defineSink` makes: a function that opens the sink, for `writeTo`, and a definition that pipeline files can name.
 *
 * @typeParam I As in `SinkDeclaration`.
 */
export interface CustomSink<I = never> extends Extension<'sink', unknown> {
  /**
   * @throws {SinkError} `E_SINK_CONFIG` for options that cannot be right; `E_SINK_FUNCTION` when a function of the sink throws, with what it
   * threw as the `cause`.
   */
  (...options: undefined extends I ? [options?: I] : [options: I]): Promise<SinkWriter>;
}
