import type { z } from 'zod';
import { schema, type OutputColumn, type Value } from '../core/index.js';
import { memoOfTexts, pieceOf, plainBytes, type Utf8Vector } from '../vector/index.js';
import { openInCode } from './alone.js';
import { checkColumns, fileOptions, outputAt } from './options.js';
import { builtInSink, type SinkContext, type SinkWriter } from './sink.js';
import { CellFormat, textFile } from './text.js';

const config = schema((z) => z.strictObject(fileOptions()));

/** The options of `ndjson`, named and explained as in the reference of pipeline files. */
export type NdjsonOptions = Omit<z.input<ReturnType<typeof config>>, 'where'>;

/**
 * Writes rows to a file of newline-delimited JSON. Numbers made by steps are numbers, whole ones with all digits; the service's texts
 * become numbers only under `types: typed`. Instants are ISO 8601 in UTC, days `YYYY-MM-DD`.
 *
 * @returns A writer that holds one page of text, or some small ones up to 128 KiB; the file appears with the commit.
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

export const ndjsonSink = builtInSink({
  name: 'ndjson',
  summary: 'Writes one file with a JSON object per line.',
  config,
  examples: [{ path: 'out/leads.ndjson' }, { path: 'out/leads.ndjson', types: 'typed', naming: 'snake_case' }],
  check: (options, arriving, plan) => checkColumns(options.columns, arriving, plan),
  output: ({ path }, place) => outputAt(path, place),
  open: (options, context) => textFile({ ...options, json: true, format: (columns) => new NdjsonFormat(columns) }, context),
});

/** Writes a JSON object per line, with keys in column order, made of texts: whole numbers keep all digits, and any name is possible. */
export class NdjsonFormat extends CellFormat {
  readonly #escaped = memoOfTexts((text) => pieceOf(JSON.stringify(text).slice(1)), maxEscaped);

  constructor(outputs: readonly OutputColumn[]) {
    super(outputs, ({ name }, index) => pieceOf(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`), pieceOf('}\n'));
  }

  protected override textOf(value: Value, { type }: OutputColumn): string {
    if (typeof value === 'string') return JSON.stringify(value);
    return value instanceof Date ? JSON.stringify(this.instant(value, type)) : String(value);
  }

  protected override put(value: Value, { type }: OutputColumn): void {
    if (value === null) this.out.piece(nothing);
    else if (typeof value === 'string') this.#putText(value);
    else if (value instanceof Date) this.#putText(this.instant(value, type));
    else if (!this.out.plain(String(value), plain)) this.out.text(String(value));
  }

  protected override putBytes(texts: Utf8Vector, row: number): void {
    this.out.code(quote);
    if (this.out.bytes(texts, row, plain)) this.out.code(quote);
    else this.out.piece(this.#escaped(texts, row));
  }

  #putText(text: string): void {
    this.out.code(quote);
    if (this.out.plain(text, plain)) this.out.code(quote);
    else this.out.text(JSON.stringify(text).slice(1));
  }
}

/** Characters that JSON does not escape. */
const plain = plainBytes(/[\0-\x1f"\\]/, true);
const quote = 0x22;
const maxEscaped = 4096;
const nothing = pieceOf('null');
