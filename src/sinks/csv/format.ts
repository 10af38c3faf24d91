import { format as formatter } from 'fast-csv';
import { textOf, type Value } from '../../collections/index.js';
import type { OutputColumn, Refuses } from '../projection.js';
import type { TextFormat } from '../text-sink.js';

export interface CsvDialect {
  readonly delimiter: string;
  readonly bom: boolean;
  readonly escape_formulas: boolean;
}

/**
 * CSV by RFC 4180, quoted by fast-csv, with `\n` at line ends. Columns and their order are given, since fast-csv drops
 * those that it does not find in the first row.
 */
export function csvFormat(columns: readonly OutputColumn[], { delimiter, bom, escape_formulas: escape }: CsvDialect): TextFormat {
  const options = {
    delimiter,
    headers: columns.map(({ name }) => name),
    writeHeaders: false,
    includeEndRowDelimiter: true,
    // The line of an empty cell would be an empty line, which readers skip.
    quoteColumns: columns.length === 1,
  };
  const cell = (value: Value, { type }: OutputColumn): string | null => {
    return escape && typeof value === 'string' ? escapeFormula(value) : textOf(value, type);
  };

  /** A formatter per page: within one, its lines are buffered without bound. */
  async function lines(rows: Iterable<readonly (string | null)[]>): Promise<Uint8Array> {
    const stream = formatter(options);
    const pieces: Buffer[] = [];
    stream.on('data', (piece: Buffer) => pieces.push(piece));
    const end = new Promise((resolve, reject) => stream.on('end', resolve).on('error', reject));
    for (const row of rows) stream.write(row);
    stream.end();
    await end;
    return Buffer.concat(pieces);
  }

  return {
    head: async () => Buffer.concat([Buffer.from(bom ? '\ufeff' : ''), await lines([options.headers])]),
    rows: ({ rows, columns: values }) => {
      const cells = columns.map((column, index) => values[index]?.map((value) => cell(value, column)) ?? []);
      return lines(Array.from({ length: rows }, (_, row) => cells.map((column) => column[row] ?? null)));
    },
    tail: () => '',
  };
}

/** fast-csv takes NUL characters out without a word. */
export const refusesNul: Refuses = (value) => {
  return typeof value === 'string' && value.includes('\0') ? 'has a NUL character, which CSV cannot hold' : undefined;
};

/** Spreadsheets run cells that begin like this. */
function escapeFormula(text: string): string {
  return /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}
