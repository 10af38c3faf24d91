import { SinkError, type Column } from '../../core/index.js';
import { batchOf } from '../../flow/index.js';
import { OpenedRun, type BegunRun, type Table } from '../../lake/index.js';
import type { ParquetEngine } from '../../parquet/index.js';
import { inPhases } from '../phases.js';
import { project, type Projection } from '../projection.js';
import type { SinkContext, SinkWriter } from '../sink.js';
import { encodingOf, type ParquetConfig } from './config.js';

/**
 * Opens a new run of a table.
 *
 * @returns A writer that holds the row groups which wait to be encoded, and for `append` the key index.
 * @throws {SinkError} `E_SINK_FOREIGN`, `E_SINK_PATH` or `E_SINK_RUN`.
 * @throws {GateError} `E_GATE_VERIFY` when files are to be kept that are not what their run wrote.
 */
export async function openRun(table: Table, engine: ParquetEngine, options: ParquetConfig, context: SinkContext): Promise<SinkWriter> {
  const { at } = context;
  const opened = await OpenedRun.open(table, engine, options, context);
  let begun: { readonly projection: Projection; readonly run: BegunRun } | undefined;

  async function begin(columns: readonly Column[]): Promise<void> {
    const key = options.mode === 'append' ? keyFields(columns, options, context) : [];
    const projection = project(columns, { ...options, required: key, refuses: opened.refuses, caseless: true }, context);
    const encoding = (inFiles: Parameters<typeof encodingOf>[1]) => encodingOf(options, inFiles, context);
    begun = { projection, run: await opened.begin({ columns: projection.columns, key, encoding }) };
  }

  const writer: SinkWriter = {
    begin,
    write: async (page) => {
      if (begun) await begun.run.write(begun.projection.take(batchOf(page)));
    },
    finish: () => {
      if (!begun) throw new SinkError('E_SINK_VALUE', `${at}: there are no columns to write`);
      return begun.run.finish();
    },
    abort: () => opened.abort(),
  };
  return { ...inPhases(at, writer), earlier: opened.earlier };
}

/** The fields that identify a row. @throws {SinkError} `E_SINK_KEY` when one does not reach the sink. */
function keyFields(columns: readonly Column[], options: ParquetConfig, { at, key }: SinkContext): readonly string[] {
  const wanted = options.key?.length ?? key.length;
  const fields = options.key ?? key.flatMap((source) => columns.find((column) => column.source === source)?.name ?? []);
  const written = columns.filter(({ name }) => options.columns?.includes(name) ?? true).map(({ name }) => name);
  if (fields.length > 0 && fields.length >= wanted && fields.every((field) => written.includes(field))) return fields;
  throw new SinkError('E_SINK_KEY', `${at}: append needs columns that identify a row; name them under key`);
}
