import { format as formatter } from 'fast-csv';
import { SinkError, textOf, type Value, instantTexts, type OutputColumn } from '../../core/index.js';
import {
  type Batch,
  encoding,
  memoOfTexts,
  partsOf,
  type Piece,
  pieceOf,
  type PlainBytes,
  plainBytes,
  plainExcept,
  Utf8,
  type Utf8Vector,
  type Viewed,
} from '../../vector/index.js';
import type { TextFormat } from '../text-sink.js';

export interface CsvDialect {
  readonly delimiter: string;
  readonly bom: boolean;
  readonly escape_formulas: boolean;
}

/**
 * Writes CSV by RFC 4180 with `\n` as line ending, byte for byte as fast-csv does. Only values that need more than their text go through fast-csv. Nearly all
 * others bypass it, since for these its checks cost more than writing them.
 */
export class CsvFormat implements TextFormat {
  readonly #out = new Utf8();
  readonly #instant = instantTexts();
  readonly #columns: readonly Encoded[];
  readonly #between: Piece;
  /** Quotes every cell of a single column: an empty cell would be an empty line, which readers skip. */
  readonly #always: boolean;
  /** The characters that fast-csv quotes or removes, including the bar, which RFC 4180 would not quote. */
  readonly #special: RegExp;
  readonly #plain: Uint8Array;
  readonly #plainInBytes: PlainBytes;
  readonly #formatted: (cell: string) => string;
  readonly #oddly: (texts: Utf8Vector, row: number) => Piece;

  constructor(
    outputs: readonly OutputColumn[],
    private readonly dialect: CsvDialect,
  ) {
    const { delimiter } = dialect;
    this.#always = outputs.length === 1;
    this.#special = new RegExp(`[${delimiter}|\\r\\n"\\0]`);
    this.#plain = plainExcept(this.#special);
    this.#plainInBytes = plainBytes(this.#plain, delimiter.charCodeAt(0) < 0x80);
    this.#formatted = cellFormatter(delimiter, this.#always);
    this.#oddly = memoOfTexts((text) => pieceOf(this.#whole(this.#disarmed(text))), maxOdd);
    this.#between = pieceOf(delimiter);
    this.#columns = outputs.map((column) => ({ column, encode: encoding((value) => this.#whole(this.#textIn(value, column))) }));
  }

  head() {
    const out = this.#out;
    if (this.dialect.bom) out.text('\ufeff');
    this.#columns.forEach(({ column }, index) => {
      if (index > 0) out.piece(this.#between);
      this.#put(column.name);
    });
    out.piece(lineEnd);
    return out.take();
  }

  rows(batch: Batch) {
    const out = this.#out;
    const all = this.#columns.map(({ column, encode }, index) => ({ column, ...partsOf(batch.column(index), encode) }));
    for (let row = 0; row < batch.rows; row += 1) {
      let first = true;
      for (const { column, texts, dictionary, values } of all) {
        if (!first) out.piece(this.#between);
        first = false;
        if (texts) this.#putBytes(texts, row);
        else if (dictionary) out.encoded(dictionary.encoded, dictionary.indices[row] ?? 0);
        else this.#put(this.#textIn(values[row] ?? null, column));
      }
      out.piece(lineEnd);
    }
    return out.take();
  }

  tail() {
    return '';
  }

  #putBytes(viewed: Viewed, row: number): void {
    const { texts } = viewed;
    const asItIs = !this.#always && !(this.dialect.escape_formulas && harmless[texts.bytes[texts.start(row)] ?? 0] === 0);
    if (!asItIs || !this.#out.bytes(viewed, row, this.#plainInBytes)) this.#out.piece(this.#oddly(texts, row));
  }

  #put(cell: string): void {
    if (!this.#always && this.#out.plain(cell, this.#plain)) return;
    this.#out.text(this.#whole(cell));
  }

  #whole(cell: string): string {
    return this.#always || this.#special.test(cell) ? this.#formatted(cell) : cell;
  }

  #textIn(value: Value, { type }: OutputColumn): string {
    if (typeof value === 'string') return this.#disarmed(value);
    return value instanceof Date ? this.#instant(value, type) : (textOf(value, type) ?? '');
  }

  #disarmed(text: string): string {
    return this.dialect.escape_formulas && formula.test(text) ? `'${text}` : text;
  }
}

interface Encoded {
  readonly column: OutputColumn;
  readonly encode: ReturnType<typeof encoding>;
}

/** Needed because fast-csv silently removes NUL characters. */
export const nul = 'has a NUL character, which CSV cannot represent';

/**
 * Returns a function that formats one cell as fast-csv does in a row. The stream of fast-csv is synchronous: its output is available when `write` returns.
 *
 * @throws {SinkError} `E_SINK_WRITE` if that ever changes, rather than losing the cell.
 */
function cellFormatter(delimiter: string, quoteColumns: boolean): (cell: string) => string {
  const stream = formatter({ delimiter, quoteColumns, rowDelimiter: '' });
  return (cell) => {
    stream.write([cell]);
    const text: unknown = stream.read();
    if (Buffer.isBuffer(text)) return text.toString();
    if (/[^\0]/.test(cell)) throw new SinkError('E_SINK_WRITE', 'fast-csv returned no text for a cell');
    return '';
  };
}

/** Matches cells that spreadsheets would run. */
const formula = /^[=+\-@\t\r]/;
const harmless = plainExcept(formula);
/** Number of cached results: notes, tags and JSON texts often have few distinct values. */
const maxOdd = 4096;
const lineEnd = pieceOf('\n');
