import { format as formatter } from 'fast-csv';
import { SinkError } from '../../errors.js';
import { textOf, type Value } from '../../collections/index.js';
import { valuesOf } from '../../columnar/index.js';
import type { OutputColumn } from '../projection.js';
import type { TextFormat } from '../text-sink.js';
import { plainExcept, Utf8 } from '../utf8.js';

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
  const formatted = cellFormatter(delimiter, always);
  const between = Buffer.from(delimiter);
  const out = new Utf8();

  function put(cell: string): void {
    if (!always && out.plain(cell, plain)) return;
    out.text(always || special.test(cell) ? formatted(cell) : cell);
  }

  function textIn(value: Value, { type }: OutputColumn): string {
    if (typeof value === 'string') return escape ? escapeFormula(value) : value;
    return textOf(value, type) ?? '';
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
      const cells = columns.map((column, index) => ({ column, values: valuesOf(values[index] ?? []) }));
      for (let row = 0; row < rows; row += 1) {
        let first = true;
        for (const { column, values } of cells) {
          if (!first) out.piece(between);
          first = false;
          put(textIn(values[row] ?? null, column));
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
function escapeFormula(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}

const lineEnd = Buffer.from('\n');
