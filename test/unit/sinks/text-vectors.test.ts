import { inspect } from 'node:util';
import { format } from 'fast-csv';
import fc from 'fast-check';
import { declaredTypes, type Value, type Column, type Row } from '../../../src/core/index.js';
import { batchFromRows, type RecordBatch } from '../../../src/vector/index.js';
import { pageOf } from '../../../src/flow/index.js';
import { standaloneSink } from '../../../src/sinks/alone.js';
import { CsvFormat, csvFormat } from '../../../src/sinks/csv.js';
import { NdjsonFormat } from '../../../src/sinks/ndjson.js';
import { TextTableFormat } from '../../../src/sinks/stdout.js';
import { textSink, type TextSink, type TextTarget } from '../../../src/sinks/text.js';
import { dictionaryBatches, batchOfTexts } from '../../support/batches.js';
import { column, recording } from '../../support/sinks.js';

const awkward = ['', ' x ', '=1', ...'",;|\r\n\\éè£😀😁𐀀-@\t\x01\u2028\x7f'];
const words = fc.oneof(
  fc.string({ unit: fc.constantFrom(...awkward), maxLength: 4 }),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('1', '0', 'no', 'Yes', '007', '-5', '1.50', '20240229', '1700000000', '1'.repeat(80), 'ü"'.repeat(40)),
);
const others = [null, 'a\0b', '\ud83d', true, 12n, 1.5, Number.NaN, new Date(0), new Date(1.7e12 + 123), new Date(Number.NaN)];
const values = fc.oneof(words, fc.constantFrom<Value>(...others));

/** Columns, some of them texts throughout, and pages of rows that may lack the last. */
const pages = fc.integer({ min: 1, max: 4 }).chain((width) =>
  fc.record({
    columns: fc.tuple(
      ...Array.from({ length: width }, (_, index) => fc.constantFrom(...declaredTypes).map((type) => column(`c${index}`, type))),
    ),
    pages: fc.array(
      fc
        .record({ missing: fc.boolean(), ofTexts: fc.array(fc.boolean(), { minLength: width, maxLength: width }) })
        .chain(({ missing, ofTexts }) =>
          fc.array(
            fc.record(Object.fromEntries(ofTexts.slice(missing ? 1 : 0).map((texts, index) => [`c${index}`, texts ? words : values]))),
          ),
        ),
      { maxLength: 3 },
    ),
  }),
);

/** Characters of one, two, three and four bytes. */
const codes = [...Array.from({ length: 0x100 }, (_, code) => code).slice(1), 0x7ff, 0x2028, 0xffff, 0x1f600];
const places = Array.from({ length: 9 }, (_, place) => place);
const naming = 'original';
const { nul } = await csvFormat({ delimiter: ',', bom: false, escape_formulas: false });
const common = fc.record({ types: fc.constantFrom('typed', 'text'), on_error: fc.constantFrom('reject', 'null', 'fail') } as const);
const delimiter = fc.constantFrom(',', ';', '\t', '|', '-', '[', ' ', 'é', '€', '😀');
const excel = fc.constantFrom(undefined, { decimal: ',', zone: 'Asia/Kolkata' });

const sinks: Readonly<Record<string, fc.Arbitrary<TextSink>>> = {
  csv: fc
    .tuple(common, fc.record({ delimiter, excel, bom: fc.boolean(), escape_formulas: fc.boolean() }))
    .map(([options, dialect]) => ({ ...options, naming, nul, format: (columns) => new CsvFormat(columns, dialect, format) })),
  ndjson: common.map((options) => ({ ...options, naming, json: true, format: (columns) => new NdjsonFormat(columns) })),
  table: common.map((options) => ({ ...options, naming, json: true, format: (columns) => new TextTableFormat(columns, 8) })),
};

describe.each(Object.entries(sinks))('%s', (_name, sink) => {
  test('has the same bytes, rejects and failures whatever vectors columns have', async () => {
    await fc.assert(
      fc.asyncProperty(sink, pages, async (options, { columns, pages }) => {
        const ofRows = await written(options, columns, pages.map(batchFromRows));
        for (const table of [batchOfTexts, dictionaryBatches(true), dictionaryBatches(false)]) {
          const tables = pages.map((rows) => table(rows));
          expect(await written(options, columns, tables)).toEqual(ofRows);
        }
      }),
    );
  });
});

describe.each([
  ['csv', (columns) => new CsvFormat(columns, { delimiter: ';', bom: false, escape_formulas: true }, format)],
  [
    'csv with a delimiter beyond ASCII',
    (columns) => new CsvFormat(columns, { delimiter: 'é', bom: false, escape_formulas: false }, format),
  ],
  ['ndjson', (columns) => new NdjsonFormat(columns)],
] satisfies [string, TextSink['format']][])('%s of texts', (_name, format) => {
  const columns = [column('a'), column('b')];

  test.each<[string, readonly Row[]]>([
    ['that come again', Array.from({ length: 60 }, (_, index) => ({ a: ['"', 'x\ny', 'é', ''][index % 4] ?? null, b: `${index}"` }))],
    ['of any length', ['x', '"', 'é', '\n', ''].map((character) => ({ a: character.repeat(100_000), b: `x${character.repeat(70_001)}` }))],
    ['with any character anywhere', codes.flatMap((code) => places.map((place) => ({ a: around(code, place), b: `${place}` })))],
  ])('%s has the bytes of strings', async (_what, rows) => {
    const options: TextSink = { types: 'text', naming, format };
    const expected = await written(options, columns, [rows, rows].map(batchFromRows));
    for (const table of [batchOfTexts, dictionaryBatches(true), dictionaryBatches(false)])
      expect(await written(options, columns, [table(rows), table(rows)])).toEqual(expected);
  });
});

/** Everything that a sink does with some pages. */
async function written(options: TextSink, columns: readonly Column[], pages: readonly RecordBatch[]) {
  const pieces: Buffer[] = [];
  const { rejects, nulls, ...context } = recording('.');
  // In words, since one invalid date is not equal to another one.
  const rejected = () => inspect(rejects, { depth: null });
  const writer = textSink(memory(pieces), options, standaloneSink('test', context));
  await writer.begin(columns);
  try {
    for (const [index, content] of pages.entries()) await writer.write(pageOf(index + 1, content, { release: () => undefined }));
    const { rows } = await writer.prepare();
    return { text: Buffer.concat(pieces).toString('latin1'), rows, rejects: rejected(), nulls };
  } catch (failure) {
    return { text: Buffer.concat(pieces).toString('latin1'), failure, rejects: rejected(), nulls };
  }
}

function memory(pieces: Buffer[]): TextTarget {
  return { append: async (piece) => void pieces.push(Buffer.from(piece)) };
}

function around(code: number, place: number): string {
  return `${'!'.repeat(place)}${String.fromCodePoint(code)}${'~'.repeat(9 - place)}`;
}
