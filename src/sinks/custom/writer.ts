import { itemAt, reasonOf, type Column, type Row, type Value } from '../../core/index.js';
import type { Page } from '../../flow/index.js';
import { ownValue, type Batch } from '../../vector/index.js';
import { PhasedWriter, type BegunSink, type OpenedSink } from '../phases.js';
import { project, type Projection } from '../projection.js';
import type { PreparedOutput, SinkContext, SinkWriter } from '../sink.js';
import { checkWriter, sinkCall, SinkCalls, type AnyWriter } from './calls.js';
import type { AnySink } from './declaration.js';

/** Opens a custom sink. */
export async function openCustom(sink: AnySink, options: unknown, context: SinkContext): Promise<SinkWriter> {
  const { at, pipeline, runId, baseDir } = context;
  const abort = new AbortController();
  const given = { at, pipeline, runId, baseDir, runDate: context.runDate(), signal: abort.signal };
  const opened = await sinkCall<unknown>(at, 'open', () => sink.open(options, given));
  const writer = await checkedOrAborted(at, opened, context);
  return new PhasedWriter(at, new OpenedCustom(new SinkCalls(at, writer), sink.types ?? 'text', context, abort));
}

/** Checks what `open` returned before anything is read. An invalid writer is aborted if it has `abort`, to undo what it started. */
async function checkedOrAborted(at: string, opened: unknown, { warn }: SinkContext): Promise<AnyWriter> {
  try {
    return checkWriter(at, opened);
  } catch (failure) {
    const abort: unknown = typeof opened === 'object' && opened !== null ? Reflect.get(opened, 'abort') : undefined;
    if (typeof abort === 'function')
      await sinkCall(at, 'abort', () => abort.call(opened) as unknown).catch((second: unknown) =>
        warn?.({ code: 'W_SINK_ABORT', message: reasonOf(second) }),
      );
    throw failure;
  }
}

/** Opens a writer that casts rows as that sink would, but calls none of its functions. */
export function rehearseCustom({ types = 'text' }: AnySink, context: SinkContext): SinkWriter {
  const calls = new SinkCalls(context.at, { write: () => undefined, commit: () => undefined, abort: () => undefined });
  return new PhasedWriter(context.at, new OpenedCustom(calls, types, context, new AbortController()));
}

/** A custom sink whose columns are not known yet. */
class OpenedCustom implements OpenedSink {
  constructor(
    private readonly calls: SinkCalls,
    private readonly types: 'text' | 'typed',
    private readonly context: SinkContext,
    private readonly controller: AbortController,
  ) {}

  async begin(columns: readonly Column[]): Promise<BegunSink> {
    const projection = project(columns, { types: this.types, naming: 'snake_case' }, this.context);
    await this.calls.call('begin', '', (writer) => writer.begin?.(projection.columns));
    return new BegunCustom(this.calls, projection);
  }

  /** A failure of `abort` is only a warning, so that the original failure is the one reported. */
  async abort(underWay: Promise<unknown>): Promise<void> {
    this.controller.abort();
    await this.calls.abort(underWay).catch((failure: unknown) => this.context.warn?.({ code: 'W_SINK_ABORT', message: reasonOf(failure) }));
  }
}

/** A custom sink that accepts rows. */
class BegunCustom implements BegunSink {
  #rows = 0;

  constructor(
    private readonly calls: SinkCalls,
    private readonly projection: Projection,
  ) {}

  async write(page: Page): Promise<void> {
    const { number } = page;
    const names = this.projection.columns.map(({ name }) => name);
    const rows = rowsOf(this.projection.take(page), names);
    if (rows.length === 0) return;
    await this.calls.call('write', ` on page ${number}`, (writer) => writer.write(rows, { number }));
    this.#rows += rows.length;
  }

  prepare(): Promise<PreparedOutput> {
    const rows = this.#rows;
    return Promise.resolve({
      ...{ rows, bytes: 0, total: rows, unchanged: 0, changed: 0 },
      actions: () => Promise.resolve([]),
      commit: (partial: boolean) => this.calls.commit({ rows, partial }),
      cleanup: () => Promise.resolve(),
      quarantine: () => Promise.resolve(undefined),
    });
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
