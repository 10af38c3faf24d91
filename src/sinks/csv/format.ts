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
 * CSV by RFC 4180 with `\n` at line ends: the bytes that fast-csv makes of the same rows. Values that need
 * more than their text are formatted by fast-csv; the others, nearly all, pass it by: its way to finding that there is nothing to
 * do is longer than writing them.
 */
export class CsvFormat implements TextFormat {
  readonly #out = new Utf8();
  readonly #instant = instantTexts();
  readonly #columns: readonly Encoded[];
  readonly #between: Piece;
  /** The line of an empty cell would be an empty line, which readers skip. */
  readonly #always: boolean;
  /** What fast-csv quotes or takes out; the bar is an idea of its own. */
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

/** fast-csv takes NUL characters out without a word. */
export const nul = 'has a NUL character, which CSV cannot hold';

/**
 * Formats one cell as fast-csv does in a row. Its stream works at once: what it makes of a row is there when `write` returns.
 *
 * @throws {SinkError} `E_SINK_WRITE` should that ever not be so, rather than losing the cell.
 */
function cellFormatter(delimiter: string, quoteColumns: boolean): (cell: string) => string {
  const stream = formatter({ delimiter, quoteColumns, rowDelimiter: '' });
  return (cell) => {
    stream.write([cell]);
    const text: unknown = stream.read();
    if (Buffer.isBuffer(text)) return text.toString();
    if (/[^\0]/.test(cell)) throw new SinkError('E_SINK_WRITE', 'fast-csv gave no text for a cell');
    return '';
  };
}

/** Spreadsheets run cells that begin like this. */
const formula = /^[=+\-@\t\r]/;
const harmless = plainExcept(formula);
/** Notes, tags and texts of JSON often are one of a few. */
const maxOdd = 4096;
const lineEnd = pieceOf('\n');
