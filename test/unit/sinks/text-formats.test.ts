import { format, writeToBuffer } from 'fast-csv';
import fc from 'fast-check';
import { CsvFormat } from '../../../src/sinks/csv.js';
import { NdjsonFormat } from '../../../src/sinks/ndjson.js';
import type { OutputColumn } from '../../../src/core/index.js';
import { FlatVector } from '../../../src/vector/index.js';
import { Batch } from '../../../src/vector/record-batch.js';
import type { TextChunk, TextFormat } from '../../../src/sinks/text.js';

const awkward = ['', '""', ' x ', '=1', '\ud83d', '\ude00', ...'",;|\r\n\0\'\\é😀-\u2028\x7f'];
const cell = fc.option(
  fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: fc.constantFrom(...awkward) }), fc.constantFrom(...awkward)),
);
const delimiter = fc.constantFrom(',', ';', '\t', '|', '-', '[', '.', ' ', 'é', '😀');

/** Column names, and pages of rows that are as wide. */
const table = fc
  .uniqueArray(fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom(...awkward)), { minLength: 1, maxLength: 4 })
  .chain((names) => {
    const row = fc.array(cell, { minLength: names.length, maxLength: names.length });
    return fc.record({ names: fc.constant(names), pages: fc.array(fc.array(row, { maxLength: 5 }), { maxLength: 3 }) });
  });

test('CSV makes the bytes that fast-csv makes of the same cells, and of disarmed ones', async () => {
  await fc.assert(
    fc.asyncProperty(table, delimiter, fc.boolean(), fc.boolean(), async ({ names, pages }, delimiter, bom, escape_formulas) => {
      const disarmed = (text: string | null) => (escape_formulas ? (text?.replace(/^[=+\-@\t\r]/, "'$&") ?? null) : text);
      const cells = [names, ...pages.flat()].map((row) => row.map(disarmed));
      const theirs = await writeToBuffer(cells, {
        delimiter,
        headers: false,
        quoteColumns: names.length === 1,
        includeEndRowDelimiter: true,
        writeBOM: bom,
      });
      const ours = new CsvFormat(names.map(textColumn), { delimiter, bom, escape_formulas }, format);
      expect(output(ours, names.length, pages)).toEqual(theirs);
    }),
    { numRuns: 60 },
  );
});

test('NDJSON makes the texts that JSON.stringify makes', async () => {
  await fc.assert(
    fc.asyncProperty(table, async ({ names, pages }) => {
      const lines = pages
        .flat()
        .map((row) => `{${row.map((text, index) => `${JSON.stringify(names[index])}:${JSON.stringify(text)}`).join(',')}}\n`);
      expect(String(output(new NdjsonFormat(names.map(textColumn)), names.length, pages))).toBe(lines.join(''));
    }),
  );
});

function textColumn(name: string): OutputColumn {
  return { name, field: name, original: name, type: 'text' };
}

function batch(rows: readonly (readonly (string | null)[])[], width: number): Batch {
  const columns = Array.from({ length: width }, (_, index) => new FlatVector(rows.map((row) => row[index] ?? null)));
  return new Batch(rows.length, columns);
}

function output(format: TextFormat, width: number, pages: readonly (readonly (readonly (string | null)[])[])[]): Buffer {
  const pieces: TextChunk[] = [format.head?.() ?? ''];
  for (const rows of pages) pieces.push(format.rows(batch(rows, width), 64));
  pieces.push(format.tail?.() ?? '');
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
}
