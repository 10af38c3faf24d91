import type { format } from 'fast-csv';
import type { z } from 'zod';
import { schema, SinkError, textOf, type OutputColumn, type Value } from '../core/index.js';
import { memoOfTexts, pieceOf, plainBytes, type Piece, type PlainBytes, type Utf8Vector } from '../vector/index.js';
import { openInCode } from './alone.js';
import { checkColumns, fileOptions, outputAt } from './options.js';
import { builtInSink, type SinkContext, type SinkWriter } from './sink.js';
import { CellFormat, textFile, type TextSink } from './text.js';

const config = schema((z) =>
  z.strictObject({
    ...fileOptions(),
    delimiter: z
      .string()
      .regex(/^[^"\r\n\]\\^\p{Cs}]$/u, 'one character, other than a quote, a line break, ], ^ and a backslash')
      .default(',')
      .describe('Character between cells.'),
    bom: z.boolean().default(false).describe('Begin with a byte order mark, which Excel needs to read UTF-8.'),
    escape_formulas: z
      .boolean()
      .default(false)
      .describe("Put a ' before texts that spreadsheets would run (= + - @, tab, return). This alters them, also phone numbers with a +."),
  }),
);

/** The options of `csv`, named and explained as in the reference of pipeline files. */
export type CsvOptions = z.input<ReturnType<typeof config>>;

/**
 * Writes rows to a CSV file: a header, then a line per row. `null` and empty texts become empty cells.
 *
 * @returns A writer that holds one page of text, or some small ones up to 128 KiB; the file appears with the commit.
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

export const csvSink = builtInSink({
  name: 'csv',
  summary: 'Writes one CSV file with a header (RFC 4180, UTF-8).',
  config,
  examples: [{ path: 'out/leads.csv' }, { path: 'out/leads.csv', delimiter: ';', bom: true, escape_formulas: true }],
  check: (options, arriving, plan) => checkColumns(options.columns, arriving, plan),
  output: ({ path }, place) => outputAt(path, place),
  open: async (options, context) => textFile({ ...options, ...(await csvFormat(options)) }, context),
});

type CsvDialect = Pick<z.output<ReturnType<typeof config>>, 'delimiter' | 'bom' | 'escape_formulas'>;

/** Returns the format and what it cannot write. fast-csv is loaded only when CSV is written. */
export async function csvFormat(dialect: CsvDialect): Promise<Pick<TextSink, 'format' | 'nul'>> {
  const { format } = await import('fast-csv');
  // fast-csv silently removes NUL characters.
  const nul = 'has a NUL character, which CSV cannot represent';
  return { nul, format: (columns) => new CsvFormat(columns, dialect, format) };
}

/** Writes CSV by RFC 4180 with `\n`, byte for byte as fast-csv, which only gets values that change: its checks cost more than writing. */
export class CsvFormat extends CellFormat {
  /** Quotes every cell of a single column: an empty cell would be an empty line, which readers skip. */
  readonly #always: boolean;
  /** What fast-csv quotes or removes, including the bar, which RFC 4180 does not quote. */
  readonly #special: RegExp;
  readonly #plain: PlainBytes;
  readonly #formatted: (cell: string) => string;
  readonly #oddly: (texts: Utf8Vector, row: number) => Piece;

  constructor(
    private readonly outputs: readonly OutputColumn[],
    private readonly dialect: CsvDialect,
    formatter: typeof format,
  ) {
    const { delimiter } = dialect;
    const between = pieceOf(delimiter);
    super(outputs, (_, index) => (index === 0 ? nothing : between), lineEnd);
    this.#always = outputs.length === 1;
    this.#special = new RegExp(`[${delimiter}|\\r\\n"\\0]`);
    this.#plain = plainBytes(this.#special, delimiter.charCodeAt(0) < 0x80);
    this.#formatted = cellFormatter(formatter({ delimiter, quoteColumns: this.#always, rowDelimiter: '' }));
    this.#oddly = memoOfTexts((text) => pieceOf(this.#whole(this.#disarmed(text))), maxOdd);
  }

  head(): string {
    const { bom, delimiter } = this.dialect;
    const names = this.outputs.map(({ name }) => this.#whole(this.#disarmed(name)));
    if (bom) return `\ufeff${names.join(delimiter)}\n`;
    // A mark at the start of the first name would be taken for the file's.
    return `${names.map((name) => name.replace(/^\ufeff.*/s, '"$&"')).join(delimiter)}\n`;
  }

  protected override textOf(value: Value, column: OutputColumn): string {
    return this.#whole(this.#cell(value, column));
  }

  protected override put(value: Value, column: OutputColumn): void {
    const cell = this.#cell(value, column);
    if (!this.#always && this.out.plain(cell, this.#plain)) return;
    this.out.text(this.#whole(cell));
  }

  protected override putBytes(texts: Utf8Vector, row: number): void {
    const asItIs = !this.#always && !(this.dialect.escape_formulas && harmless.table[texts.bytes[texts.start(row)] ?? 0] === 0);
    if (!asItIs || !this.out.bytes(texts, row, this.#plain)) this.out.piece(this.#oddly(texts, row));
  }

  #whole(cell: string): string {
    return this.#always || this.#special.test(cell) ? this.#formatted(cell) : cell;
  }

  #cell(value: Value, { type }: OutputColumn): string {
    if (typeof value === 'string') return this.#disarmed(value);
    return value instanceof Date ? this.instant(value, type) : (textOf(value, type) ?? '');
  }

  #disarmed(text: string): string {
    return this.dialect.escape_formulas && formula.test(text) ? `'${text}` : text;
  }
}

/** Formats a cell as fast-csv does in a row. Its stream is synchronous; if that ever changes, this throws instead of losing the cell. */
function cellFormatter(stream: ReturnType<typeof format>): (cell: string) => string {
  return (cell) => {
    stream.write([cell]);
    const text: unknown = stream.read();
    if (Buffer.isBuffer(text)) return text.toString();
    if (/[^\0]/.test(cell)) throw new SinkError('E_SINK_WRITE', 'fast-csv returned no text for a cell');
    return '';
  };
}

const formula = /^[=+\-@\t\r]/;
const harmless = plainBytes(formula, true);
/** Number of cached results: notes, tags and JSON texts often have few distinct values. */
const maxOdd = 4096;
const lineEnd = pieceOf('\n');
const nothing = pieceOf('');
