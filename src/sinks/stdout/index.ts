import type { z } from 'zod';
import { schema } from '../../core/index.js';
import { openInCode } from '../alone.js';
import { NdjsonFormat } from '../ndjson/format.js';
import { checkColumns, columns, naming, onError, types } from '../options.js';
import { defineSink, type SinkContext, type SinkWriter } from '../sink.js';
import { textSink, type TextSink } from '../text-sink.js';
import { tableFormat } from './table.js';
import { streamTarget } from './target.js';

const config = schema((z) =>
  z.strictObject({
    format: z
      .enum(['ndjson', 'csv', 'table'])
      .default('ndjson')
      .describe('Format of the rows: one JSON object per line, CSV with a header, or a table for people.'),
    naming: naming('original'),
    types: types('text'),
    columns: columns(),
    on_error: onError(),
    max_width: z.int().min(2).default(40).describe('Widest column of a table, in characters.'),
    width: z
      .int()
      .min(20)
      .optional()
      .describe(
        'Width of a table, in characters: columns are cut to fit, and if they would be too narrow, each record is printed vertically. Default: that of the terminal, and unlimited elsewhere.',
      ),
  }),
);

type StdoutConfig = z.output<ReturnType<typeof config>>;
/** The options of `stdout`, named as in a pipeline file. The reference of pipeline files explains each of them. */
export type StdoutOptions = z.input<ReturnType<typeof config>>;

/**
 * Writes rows to standard output as they arrive. Nothing is published, and nothing can be undone.
 *
 * @returns A writer whose `write` waits for the reader. It rejects with `ClosedPipeError` if the reader is gone.
 *
 * @example
 * const out = await stdout({ format: 'table' });
 * // uid  email  affid
 * // ---  -----  -----
 * // 7    a@b.c  1
 */
export async function stdout(options: StdoutOptions = {}, context: Partial<SinkContext> = {}): Promise<SinkWriter> {
  return openInCode(stdoutSink, options, context);
}

export const stdoutSink = defineSink({
  name: 'stdout',
  summary: 'Writes rows to standard output as JSON lines, CSV or a table.',
  config,
  examples: [{}, { format: 'csv' }, { format: 'table', max_width: 24 }],
  check: (options, arriving, plan) => checkColumns(options.columns, arriving, plan),
  prints: true,
  output: () => undefined,
  open: async (options, context) => textSink(streamTarget(context.stdout, context.at), await textOf(options, context), context),
});

async function textOf(options: StdoutConfig, { stdout: stream }: SinkContext): Promise<TextSink> {
  return { ...options, ...(await formats[options.format](fitting(options, stream))) };
}

type Format = Pick<TextSink, 'format' | 'nul' | 'surrogates'>;

const formats: { readonly [F in StdoutConfig['format']]: (options: StdoutConfig) => Format | Promise<Format> } = {
  ndjson: () => ({ format: (columns) => new NdjsonFormat(columns), surrogates: true }),
  csv: async () => {
    const { CsvFormat, nul } = await import('../csv/format.js');
    return { format: (columns) => new CsvFormat(columns, { delimiter: ',', bom: false, escape_formulas: false }), nul };
  },
  table: ({ max_width: column, width: table }) => ({ format: (columns) => tableFormat(columns, { column, table }), surrogates: true }),
};

/** Fits tables to the terminal they are printed on. */
function fitting(
  options: StdoutConfig,
  stream: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number },
): StdoutConfig {
  const { isTTY, columns } = stream;
  return options.width === undefined && isTTY && columns ? { ...options, width: Math.max(20, columns) } : options;
}
