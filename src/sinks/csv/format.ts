import { format as formatter } from 'fast-csv';
import { SinkError, textOf, type Value, instantTexts, type OutputColumn } from '../../core/index.js';
import { encoding, memoOfTexts, partsOf, pieceOf, plainBytes, plainExcept, Utf8, type Viewed } from '../../vector/index.js';
import type { TextFormat } from '../text-sink.js';

export interface CsvDialect {
  readonly delimiter: string;
  readonly bom: boolean;
  readonly escape_formulas: boolean;
}

/**
 * CSV by RFC 4180 with `\n` at line ends: the bytes that fast-csv makes of the same rows. Vector that need
 * more than their text are formatted by fast-csv; the others, nearly all, pass it by: its way to finding that there is nothing to
 * do is longer than writing them.
 */
export function csvFormat(outputs: readonly OutputColumn[], { delimiter, bom, escape_formulas: escape }: CsvDialect): TextFormat {
  // The line of an empty cell would be an empty line, which readers skip.
  const always = outputs.length === 1;
  // What fast-csv quotes or takes out; the bar is an idea of its own.
  const special = new RegExp(`[${delimiter}|\\r\\n"\\0]`);
  const plain = plainExcept(special);
  const plainInBytes = plainBytes(plain, delimiter.charCodeAt(0) < 0x80);
  const formatted = cellFormatter(delimiter, always);
  const oddly = memoOfTexts((text) => pieceOf(whole(disarmed(text))), maxOdd);
  const between = pieceOf(delimiter);
  const instant = instantTexts();
  const columns = outputs.map((column) => ({ column, encode: encoding((value) => whole(textIn(value, column))) }));
  const out = new Utf8();

  function putBytes(viewed: Viewed, row: number): void {
    const { texts } = viewed;
    const asItIs = !always && !(escape && harmless[texts.bytes[texts.start(row)] ?? 0] === 0);
    if (!asItIs || !out.bytes(viewed, row, plainInBytes)) out.piece(oddly(texts, row));
  }

  function put(cell: string): void {
    if (!always && out.plain(cell, plain)) return;
    out.text(whole(cell));
  }

  function whole(cell: string): string {
    return always || special.test(cell) ? formatted(cell) : cell;
  }

  function textIn(value: Value, { type }: OutputColumn): string {
    if (typeof value === 'string') return disarmed(value);
    return value instanceof Date ? instant(value, type) : (textOf(value, type) ?? '');
  }

  function disarmed(text: string): string {
    return escape && formula.test(text) ? `'${text}` : text;
  }

  return {
    head() {
      if (bom) out.text('\ufeff');
      outputs.forEach(({ name }, index) => {
        if (index > 0) out.piece(between);
        put(name);
      });
      out.piece(lineEnd);
      return out.take();
    },
    rows(batch) {
      const all = columns.map(({ column, encode }, index) => ({ column, ...partsOf(batch.column(index), encode) }));
      for (let row = 0; row < batch.rows; row += 1) {
        let first = true;
        for (const { column, texts, dictionary, values } of all) {
          if (!first) out.piece(between);
          first = false;
          if (texts) putBytes(texts, row);
          else if (dictionary) out.encoded(dictionary.encoded, dictionary.indices[row] ?? 0);
          else put(textIn(values[row] ?? null, column));
        }
        out.piece(lineEnd);
      }
      return out.take();
    },
    tail: () => '',
  };
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
