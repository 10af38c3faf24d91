import { parseString } from 'fast-csv';
import type { Collection } from '../../collections/index.js';
import { dataError, linesOf, type Numbered } from './lines.js';
import { originalNames, type TextRow } from './rows.js';

/** Records that are parsed together: enough to pay for a parser stream, few enough to use little memory. */
const batchSize = 500;

/**
 * Reads the rows of a CSV file with a header line, under the service's own names in the order of the header. A header may be one of those names or a column
 * name; any other header is kept. Blank lines are skipped; an empty cell is an empty string.
 *
 * @throws {LeadstreamError} `E_DATA` with file and line for bad quoting, a repeated header, or a record whose number
 * of cells differs from the header's.
 */
export async function* csvRows(file: string, collection: Collection): AsyncGenerator<TextRow> {
  let names: readonly string[] | undefined;
  for await (const batch of batchesOf(recordsOf(file))) {
    const rows = await parseBatch(file, batch);
    for (const [index, cells] of rows.entries()) {
      const line = batch[index]?.line ?? 0;
      if (!names) {
        names = cells.map(originalNames(collection));
        const twice = names.find((name, place, all) => all.indexOf(name) < place);
        if (twice !== undefined) throw dataError(file, line, `the header names the field ${twice} twice`);
      } else if (cells.length === names.length) {
        yield Object.fromEntries(names.map((name, cell) => [name, cells[cell] ?? '']));
      } else {
        throw dataError(file, line, `has ${cells.length} cells where the header has ${names.length}`);
      }
    }
  }
}

/** Joins lines while a quote is open. Splitting here instead of in the parser gives every record its line number. */
async function* recordsOf(file: string): AsyncGenerator<Numbered> {
  let open: string[] = [];
  let start = 1;
  for await (const { text, line } of linesOf(file)) {
    const odd = text.split('"').length % 2 === 0;
    if (open.length === 0) {
      start = line;
      if (!odd && text.trim() === '') continue;
    }
    open.push(text);
    if (odd !== open.length > 1) continue;
    yield { text: open.join(''), line: start };
    open = [];
  }
  if (open.length > 0) throw dataError(file, start, 'a quote is opened and never closed');
}

async function* batchesOf(records: AsyncIterable<Numbered>): AsyncGenerator<readonly Numbered[]> {
  let batch: Numbered[] = [];
  for await (const record of records) {
    if (batch.push(record) < batchSize) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Parses a batch of records. The parser's messages quote the content and have no line, so a batch that fails is parsed again record by record. */
async function parseBatch(file: string, batch: readonly Numbered[]): Promise<readonly string[][]> {
  const rows = await parseRecords(batch);
  if (rows) return rows;
  for (const record of batch) {
    if (!(await parseRecords([record]))) throw dataError(file, record.line, 'is not valid CSV');
  }
  throw dataError(file, batch[0]?.line ?? 1, 'or a line soon after it is not valid CSV');
}

/** Returns one list of cells per record; `undefined` when the parser refuses the text or finds other records in it. */
function parseRecords(records: readonly Numbered[]): Promise<string[][] | undefined> {
  return new Promise((resolve) => {
    const rows: string[][] = [];
    parseString<string[], string[]>(records.map(({ text }) => text).join(''), { headers: false })
      .on('error', () => resolve(undefined))
      .on('data', (row: string[]) => rows.push(row))
      .on('end', () => resolve(rows.length === records.length ? rows : undefined));
  });
}
