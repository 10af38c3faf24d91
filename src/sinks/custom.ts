import { setTimeout } from 'node:timers/promises';
import { itemAt, LeadstreamError, outputColumn, reasonOf, SinkError, warnProcess, whatWasThrown } from '../core/index.js';
import type { OutputColumn, Row, Value } from '../core/index.js';
import { unlessDry } from '../flow/index.js';
import { extended, extensionConfig, extensionOf, kindOf, type Extension, type ExtensionDeclaration } from '../options/index.js';
import { ownValue, type Batch } from '../vector/index.js';
import { standaloneSink } from './alone.js';
import { nothingToCommit, PhasedWriter, type SinkContext, type SinkDefinition, type SinkWriter } from './sink.js';
import { project } from './projection.js';

/** What a custom sink receives in addition to its options. */
export interface CustomSinkContext extends Pick<SinkContext, 'at' | 'pipeline' | 'runId' | 'baseDir'> {
  /** UTC date of the first start of the run, also after a resume: `YYYY-MM-DD`. */
  readonly runDate: string;
  /** Aborted as soon as nothing can be published any more, to cut short a slow `write`; then `abort` is called. */
  readonly signal: AbortSignal;
}

/** What a custom sink is to publish. */
export interface ToCommit {
  readonly rows: number;
  /** Whether a limit ended the read, so that rows may be missing. A completed observable of pages counts as whole. */
  readonly partial: boolean;
}

/**
 * One output of one run. Calls come one at a time, and their promises are awaited: `begin`, `write`…, then `commit` or `abort`.
 *
 * - `commit`: once, when all rows are written, all gates have passed, and all other outputs are ready. Custom sinks commit in the order of the file, then
 *   files are published. If one fails, no later sink and no file is published; the error names the earlier ones, which get all rows again in the next run.
 * - `abort`: once, if `commit` was not called or failed. A running write has ended by then, or had ten seconds to end.
 * - After a kill, neither is called. The next run writes all rows from the first, so rows that exist already must not matter.
 */
export interface CustomWriter<T> {
  /** Receives the columns before the first row, also if there are none. */
  begin?(columns: readonly OutputColumn[]): unknown;
  /** Takes the rows of a page. The next page follows when the promise has resolved, so the source is as fast as the sink. */
  write(rows: readonly T[], page: { readonly number: number }): unknown;
  commit(written: ToCommit): unknown;
  abort(): unknown;
}

/** The rows that a sink receives: as texts, or in the columns' declared types. */
export type WrittenRow<T extends 'text' | 'typed'> = T extends 'typed' ? Row : Readonly<Record<string, string | null>>;

/** Declares a custom sink. @typeParam I Options as passed by the caller. @typeParam O Options after validation. */
export interface SinkDeclaration<I, O, T extends 'text' | 'typed'> extends ExtensionDeclaration<I, O> {
  /** Whether values are texts, as the service's (`'41'`), or have their declared type (`41n`), subject to `on_error`. Default `text`. */
  readonly types?: T | undefined;
  /** Opens an output, before the first request, so that an unwritable destination fails immediately. */
  open(options: O, context: CustomSinkContext): CustomWriter<WrittenRow<T>> | PromiseLike<CustomWriter<WrittenRow<T>>>;
}

type AnySink = SinkDeclaration<unknown, unknown, 'text' | 'typed'>;

/** The result of `defineSink`: a function that opens the sink, for `writeTo`, and a definition that pipeline files can name. */
export interface CustomSink<I = never> extends Extension<'sink', unknown> {
  /** @throws {SinkError} `E_SINK_CONFIG` for invalid options; `E_SINK_FUNCTION` if a function of the sink throws, which is the `cause`. */
  (...options: undefined extends I ? [options?: I] : [options: I]): Promise<SinkWriter>;
}

/**
 * Defines a custom sink, for `writeTo` and for pipeline files.
 *
 * @param name Name in pipeline files, of a-z, 0-9 and `_`.
 * @returns A function that opens the sink; also for `loadPipeline(file, { sinks: [it] })` and `leadstream run --plugin`.
 * @throws {SinkError} `E_SINK_CONFIG`, synchronously, for an invalid name.
 *
 * @example
 * const table = defineSink('table', {
 *   options: z.object({ name: z.string() }),
 *   async open({ name }) {
 *     await db.query('BEGIN');
 *     return {
 *       write: (rows) => db.insert(name, rows),
 *       commit: () => db.query('COMMIT'),
 *       abort: () => db.query('ROLLBACK'),
 *     };
 *   },
 * });
 * await writeTo(service.leads, table({ name: 'leads' })); // in a file: - table: { name: leads }
 */
export function defineSink<O = undefined, I = O, const T extends 'text' | 'typed' = 'text'>(
  name: string,
  declaration: SinkDeclaration<I, O, T>,
): CustomSink<I> {
  // Only the declaration needs the types of options and rows.
  const sink = declaration as unknown as AnySink;
  const refuse = (problem: string) => new SinkError('E_SINK_CONFIG', problem);
  return extended('sink', name, sink, refuse, async (options) => openCustom(sink, options(), standaloneSink(name, { warn: warnProcess })));
}

/** Returns the definition of a custom sink for pipeline files; `undefined` for other values. */
export function customSinkOf(value: unknown): SinkDefinition | undefined {
  const extension = extensionOf('sink', value);
  if (extension === undefined) return undefined;
  const { name } = extension;
  // `defineSink` checked it, in this copy of leadstream or another.
  const sink = extension.declaration as AnySink;
  const { summary = 'A sink of a plug-in.', version = '', types = 'text' } = sink;
  return {
    ...{ name, summary, examples: [], version },
    config: () => extensionConfig(sink.options),
    output: () => undefined,
    writes: (_, columns) => columns.map((column) => outputColumn(column, { naming: 'snake_case', types })),
    open: (options, context) => openCustom(sink, options, context),
  };
}

/** Milliseconds to wait for a running call when the output is aborted. */
const graceMs = 10_000;

async function openCustom(sink: AnySink, options: unknown, context: SinkContext): Promise<SinkWriter> {
  const { at, pipeline, runId, baseDir, warn } = context;
  const { types = 'text' } = sink;
  const controller = new AbortController();
  const passed = { at, pipeline, runId, baseDir, runDate: context.runDate(), signal: controller.signal };
  const opened = await called(at, 'open', () => sink.open(options, passed));
  const lacks = ['write', 'commit', 'abort'].find((name) => typeof Reflect.get(Object(opened), name) !== 'function');
  if (lacks !== undefined) {
    const remedy = `it must return an object with write, commit and abort, and ${lacks} is missing`;
    throw new SinkError('E_SINK_FUNCTION', `${at}: open returned ${kindOf(opened)}; ${remedy}`);
  }
  const writer = opened as CustomWriter<WrittenRow<'typed'>>;
  let rows = 0;
  let ended = false;
  return new PhasedWriter(at, {
    async begin(columns) {
      const projection = project(columns, { types, naming: 'snake_case' }, context);
      await called(at, 'begin', () => writer.begin?.(projection.columns));
      const names = projection.columns.map(({ name }) => name);
      return {
        async write(page) {
          const { number } = page;
          const added = rowsOf(projection.take(page), names);
          if (added.length === 0) return;
          const result = await called(at, `write on page ${number}`, () => writer.write(added, { number }));
          if (typeof result === 'boolean') {
            // A Node stream's `write` returns this before its rows are stored.
            const remedy = 'it must return a promise that resolves when the rows are stored; for a Node stream, wait for drain';
            throw new SinkError('E_SINK_FUNCTION', `${at}: write returned a boolean on page ${number}; ${remedy}`);
          }
          rows += added.length;
        },
        prepare: async () => ({
          ...nothingToCommit,
          ...{ rows, bytes: 0, total: rows, unchanged: 0, changed: 0 },
          commit: async (partial) => {
            await called(at, 'commit', () => writer.commit({ rows, partial }));
            ended = true;
          },
        }),
      };
    },
    // A failure of `abort` is only a warning, so that the first failure is reported.
    async abort(underWay) {
      controller.abort();
      if (ended) return;
      ended = true;
      await Promise.race([underWay, setTimeout(graceMs, undefined, { ref: false })]);
      await called(at, 'abort', () => writer.abort()).catch((failure: unknown) =>
        warn?.({ code: 'W_SINK_ABORT', message: reasonOf(failure) }),
      );
    },
  });
}

/** Calls a function of a custom sink. Fails with `E_RUN_STALLED` if its result never comes, once the process has nothing left to do. */
async function called(at: string, what: string, work: () => unknown): Promise<unknown> {
  try {
    return await unlessDry(Promise.resolve(work()), `${at}: ${what}`);
  } catch (thrown) {
    if (thrown instanceof LeadstreamError) throw thrown;
    throw new SinkError('E_SINK_FUNCTION', `${at}: ${what} failed with ${whatWasThrown(thrown)}`, { cause: thrown });
  }
}

/** Returns new rows, so that the sink may change them without affecting other outputs. */
function rowsOf(batch: Batch, names: readonly string[]): readonly Row[] {
  const columns = batch.columns.map((vector, place) => [itemAt(names, place), vector.toArray()] as const);
  return Array.from({ length: batch.rows }, (_, row) => {
    const made: Record<string, Value> = {};
    for (const [name, values] of columns) made[name] = ownValue(itemAt(values, row));
    return made;
  });
}
