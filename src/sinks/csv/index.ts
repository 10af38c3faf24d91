import type { z } from 'zod';
import { schema } from '../../core/index.js';
import { openInCode } from '../alone.js';
import { checkColumns, columns, filePath, naming, onError, outputAt, permissions, types } from '../options.js';
import { defineSink, type SinkContext, type SinkWriter } from '../sink.js';
import { textFile } from '../text-sink.js';

const config = schema((z) =>
  z.strictObject({
    path: filePath(),
    naming: naming('original'),
    types: types('text'),
    columns: columns(),
    permissions: permissions(),
    on_error: onError(),
    delimiter: z
      .string()
      .regex(/^[^"\r\n\]\\^\p{Cs}]$/u, 'one character, other than a quote, a line break, ], ^ and a backslash')
      .default(',')
      .describe('Character between cells.'),
    bom: z.boolean().default(false).describe('Begin with a byte order mark, which Excel needs to read UTF-8.'),
    escape_formulas: z
      .boolean()
      .default(false)
      .describe(
        "Put a ' before texts that begin with = + - @, a tab or a carriage return, which spreadsheets would run. This alters the values, including phone numbers with a leading +.",
      ),
  }),
);

/** The options of `csv`, named as in a pipeline file. The reference of pipeline files explains each of them. */
export type CsvOptions = z.input<ReturnType<typeof config>>;

/**
 * Writes rows to one CSV file: a header, then one line per row. Both `null` and an empty text become an empty cell.
 *
 * @returns A writer that holds one page of text; the file appears with the commit.
 * @throws {SinkError} `E_SINK_CONFIG` for invalid options; `E_SINK_PATH` if the file cannot be written.
 * @throws {LeadstreamError} `E_RUN_LOCKED` while something else writes there.
 *
 * @example
 * const out = await csv({ path: 'leads.csv' });
 * await out.begin(columnsOf(collections.leads));
 * await out.write(page);
 * const prepared = await out.prepare();
 * // await prepared.actions(facts)  ->  [{ action: 'rename', from: '/…/.leads.csv.RUN.partial', to: '/…/leads.csv', file: { … } }]
 */
export async function csv(options: CsvOptions, context: Partial<SinkContext> = {}): Promise<SinkWriter> {
  return openInCode(csvSink, options, context);
}

export const csvSink = defineSink({
  name: 'csv',
  summary: 'Writes one CSV file with a header (RFC 4180, UTF-8).',
  config,
  examples: [{ path: 'out/leads.csv' }, { path: 'out/leads.csv', delimiter: ';', bom: true, escape_formulas: true }],
  check: (options, arriving, plan) => checkColumns(options.columns, arriving, plan),
  output: ({ path }, place) => outputAt(path, place),
  async open(options, context) {
    // Loads fast-csv only when CSV is written.
    const { CsvFormat, nul } = await import('./format.js');
    return textFile({ ...options, nul, format: (columns) => new CsvFormat(columns, options) }, context);
  },
});
