import { format as formatter } from 'fast-csv';
import { SinkError } from '../../errors.js';
import { textOf, type Value } from '../../collections/index.js';
import { memoOfTexts, Texts } from '../../columnar/index.js';
import type { OutputColumn } from '../projection.js';
import type { TextFormat } from '../text-sink.js';
import { plainBytes, plainExcept, Utf8 } from '../utf8.js';

export interface CsvDialect {
  readonly delimiter: string;
  readonly bom: boolean;
  readonly escape_formulas: boolean;
}

/**
 * CSV by RFC 4180 with `\n` at line ends: the bytes that fast-csv makes of the same rows. Cells that need
 * more than their text are formatted by fast-csv; the others, nearly all, pass it by: its way to finding that there is nothing to
 * do is longer than writing them.
 */
export function csvFormat(columns: readonly OutputColumn[], { delimiter, bom, escape_formulas: escape }: CsvDialect): TextFormat {
  // The line of an empty cell would be an empty line, which readers skip.
  const always = columns.length === 1;
  // What fast-csv quotes or takes out; the bar is an idea of its own.
  const special = new RegExp(`[${delimiter}|\\r\\n"\\0]`);
  const plain = plainExcept(special);
  const plainInBytes = plainBytes(plain, delimiter.charCodeAt(0) < 0x80);
  const formatted = cellFormatter(delimiter, always);
  const oddly = memoOfTexts((text) => Buffer.from(whole(disarmed(text))), mostOdd);
  const between = Buffer.from(delimiter);
  const out = new Utf8();

  function putBytes(texts: Texts, row: number): void {
    const { bytes } = texts;
    const start = texts.start(row);
    const asItIs = !always && !(escape && harmless[bytes[start] ?? 0] === 0);
    if (asItIs && out.bytes(bytes, start, texts.end(row), plainInBytes)) return;
    out.piece(oddly(texts, row));
  }

  function put(cell: string): void {
    if (!always && out.plain(cell, plain)) return;
    out.text(whole(cell));
  }

  function whole(cell: string): string {
    return always || special.test(cell) ? formatted(cell) : cell;
  }

  function textIn(value: Value, { type }: OutputColumn): string {
    return typeof value === 'string' ? disarmed(value) : (textOf(value, type) ?? '');
  }

  function disarmed(text: string): string {
    return escape && formula.test(text) ? `'${text}` : text;
  }

  return {
    head() {
      if (bom) out.text('\ufeff');
      columns.forEach(({ name }, index) => {
        if (index > 0) out.piece(between);
        put(name);
      });
      out.piece(lineEnd);
      return out.take();
    },
    rows({ rows, columns: values }) {
      const all = columns.map((column, index) => ({ column, cells: values[index] ?? [] }));
      for (let row = 0; row < rows; row += 1) {
        let first = true;
        for (const { column, cells } of all) {
          if (!first) out.piece(between);
          first = false;
          if (cells instanceof Texts) putBytes(cells, row);
          else put(textIn(cells[row] ?? null, column));
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
    if (text === null && /[^\0]/.test(cell)) throw new SinkError('E_SINK_WRITE', 'fast-csv gave no text for a cell');
    return String(text ?? '');
  };
}

/** Spreadsheets run cells that begin like this. */
const formula = /^[=+\-@\t\r]/;
const harmless = plainExcept(formula);
/** Notes, tags and texts of JSON often are one of a few. */
const mostOdd = 4096;
const lineEnd = Buffer.from('\n');
