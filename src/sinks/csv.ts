import type { format } from 'fast-csv';
import type { z } from 'zod';
import { defined, schema, SinkError, textOf, timeText, type OutputColumn, type Value } from '../core/index.js';
import { usually } from '../options/index.js';
import { memoOfTexts, pieceOf, plainBytes, type Piece, type PlainBytes, type Utf8Vector } from '../vector/index.js';
import { openInCode } from './alone.js';
import { checkColumns, fileOptions, outputAt } from './options.js';
import { builtInSink, type SinkContext, type SinkWriter } from './sink.js';
import { CellFormat, textFile, type TextSink } from './text.js';

const config = schema((z) => {
  const options = z.strictObject({
    ...fileOptions(),
    types: usually(z.enum(['typed', 'text']), 'text').describe(
      "`typed` casts every column to its declared type, `text` keeps the service's text.",
    ),
    delimiter: usually(
      z.string().regex(/^[^"\r\n\]\\^\p{Cs}]$/u, 'one character, other than a quote, a line break, ], ^ and a backslash'),
      ',',
    ).describe('Character between cells.'),
    bom: usually(z.boolean(), false).describe('Begin with a byte order mark, which Excel needs to read UTF-8.'),
    escape_formulas: usually(z.boolean(), false).describe(
      "Put a ' before texts that spreadsheets would run (= + - @, tab, return). This alters them, also phone numbers with a +.",
    ),
    preset: z
      .literal('excel')
      .optional()
      .describe(
        'For people with Excel: types: typed, bom: true, escape_formulas: true and the delimiter of the locale, unless set otherwise; ' +
          'decimals of the locale, times like 2026-11-28 23:59:00, and texts like 012 as ="012", which other readers see.',
      ),
    locale: usually(
      z.string().refine((name) => isKnown(() => Intl.NumberFormat.supportedLocalesOf(name)[0]), 'must be a locale like de-DE'),
      'en-US',
    ).describe('Regional format of the Excel.'),
    time_zone: usually(
      z.string().refine((zone) => isKnown(() => timeText(new Date(0), zone, 'yyyy')), 'must be a time zone like Europe/Berlin'),
      'UTC',
    ).describe('Time zone of times.'),
  });
  const asked = options.refine(
    ({ preset, locale, time_zone }) => preset ?? (locale === undefined && time_zone === undefined),
    'locale and time_zone need preset: excel',
  );
  return asked.transform(({ preset, locale, time_zone: zone = 'UTC', ...given }) => {
    const decimal = new Intl.NumberFormat(locale ?? 'en-US', { numberingSystem: 'latn' }).format(1.5).charAt(1);
    const excel = preset && { decimal, zone };
    const [delimiter, types] = [excel && decimal === ',' ? ';' : ',', excel ? ('typed' as const) : ('text' as const)];
    return { ...given, types, delimiter, bom: excel !== undefined, escape_formulas: excel !== undefined, ...defined(given), excel };
  });
});

/** The options of `csv`, named and explained as in the reference of pipeline files. */
export type CsvOptions = Omit<z.input<ReturnType<typeof config>>, 'where'>;

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

interface CsvDialect extends Pick<z.output<ReturnType<typeof config>>, 'delimiter' | 'bom' | 'escape_formulas'> {
  readonly excel?: { readonly decimal: string; readonly zone: string } | undefined;
}

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
    const { excel, escape_formulas } = this.dialect;
    const asItIs = !this.#always && !excel && !(escape_formulas && harmless.table[texts.bytes[texts.start(row)] ?? 0] === 0);
    if (!asItIs || !this.out.bytes(texts, row, this.#plain)) this.out.piece(this.#oddly(texts, row));
  }

  #whole(cell: string): string {
    return this.#always || this.#special.test(cell) ? this.#formatted(cell) : cell;
  }

  #cell(value: Value, { type }: OutputColumn): string {
    const { excel } = this.dialect;
    if (typeof value === 'string') return this.#disarmed(value);
    if (value instanceof Date)
      return excel && type !== 'date' ? timeText(value, excel.zone, 'yyyy-MM-dd HH:mm:ss') : this.instant(value, type);
    const text = textOf(value, type) ?? '';
    if (typeof value === 'number') return excel ? text.replace('.', excel.decimal) : text;
    return this.#kept(text);
  }

  #disarmed(text: string): string {
    const kept = this.#kept(text);
    return kept === text && this.dialect.escape_formulas && formula.test(text) ? `'${text}` : kept;
  }

  /** Keeps texts that Excel would read as numbers, and change. */
  #kept(text: string): string {
    return this.dialect.excel && misread.test(text) ? `="${text}"` : text;
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

/** Whether Intl knows a name, and does not throw. */
function isKnown(find: () => unknown): boolean {
  try {
    return Boolean(find());
  } catch {
    return false;
  }
}

const formula = /^[=+\-@\t\r]/;
/** Leading zeros, more than 15 digits, what looks like an exponent, and the sign of phone numbers. */
const misread = /^\s*(?:0\d[\d.,]*|-?\d{16,}|\d+(?:[.,]\d+)?e[+-]?\d+|\+[\d ()./-]*\d)\s*$/i;
const harmless = plainBytes(formula, true);
/** Number of cached results: notes, tags and JSON texts often have few distinct values. */
const maxOdd = 4096;
const lineEnd = pieceOf('\n');
const nothing = pieceOf('');
