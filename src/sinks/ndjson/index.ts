import type { z } from 'zod';
import { schema } from '../../core/index.js';
import { openInCode } from '../alone.js';
import { checkColumns, columns, filePath, naming, onError, outputAt, permissions, types } from '../options.js';
import { defineSink, type SinkContext, type SinkWriter } from '../sink.js';
import { textFile } from '../text-sink.js';
import { NdjsonFormat } from './format.js';

const config = schema((z) =>
  z.strictObject({
    path: filePath(),
    naming: naming('original'),
    types: types('text'),
    columns: columns(),
    permissions: permissions(),
    on_error: onError(),
  }),
);

/** The options of `ndjson`, named as in a pipeline file. The reference of pipeline files explains each of them. */
export type NdjsonOptions = z.input<ReturnType<typeof config>>;

/**
 * Writes rows to one file of newline-delimited JSON. Under `types: typed` whole numbers keep all digits, instants are ISO 8601 in UTC and days `YYYY-MM-DD`.
 *
 * @returns A writer that holds one page of text; the file appears with the commit.
 * @throws {SinkError} `E_SINK_CONFIG` for invalid options; `E_SINK_PATH` if the file cannot be written.
 * @throws {LeadstreamError} `E_RUN_LOCKED` while something else writes there.
 *
 * @example
 * const out = await ndjson({ path: 'users.ndjson' });
 * // { uid: '7', email: 'a@b.c', affid: null }  ->  {"uid":"7","email":"a@b.c","affid":null}
 */
export async function ndjson(options: NdjsonOptions, context: Partial<SinkContext> = {}): Promise<SinkWriter> {
  return openInCode(ndjsonSink, options, context);
}

export const ndjsonSink = defineSink({
  name: 'ndjson',
  summary: 'Writes one file with a JSON object per line.',
  config,
  examples: [{ path: 'out/leads.ndjson' }, { path: 'out/leads.ndjson', types: 'typed', naming: 'snake_case' }],
  check: (options, arriving, plan) => checkColumns(options.columns, arriving, plan),
  output: ({ path }, place) => outputAt(path, place),
  open: (options, context) => textFile({ ...options, surrogates: true, format: (columns) => new NdjsonFormat(columns) }, context),
});
