import fc from 'fast-check';
import type { Row, Value } from '../../../src/core/index.js';
import { footerOf, statisticsOf, type ColumnStatistics } from '../../../src/parquet/index.js';
import { fileOf, output, type FileOptions } from '../../support/parquet-files.js';
import { temporaryFolder } from '../../support/temporary.js';

const types = ['text', 'flag', 'integer', 'decimal', 'timestamp', 'date'] as const;
const columns = types.map((type) => output(type, type));

async function statistics(rows: readonly Row[], options: FileOptions = {}) {
  const footer = await footerOf(await fileOf(await temporaryFolder(), columns, rows, options));
  if (!footer) throw new Error('the footer cannot be read');
  return statisticsOf(footer, columns);
}

const day = (text: string) => new Date(`${text}Z`);

/** Values of a column, in row groups of two, and what is known of them. */
const cases: readonly [type: (typeof types)[number], values: readonly Value[], known: Omit<ColumnStatistics, 'bytes'>][] = [
  ['text', ['é', 'z', null, '', '😀', '\uffff'], { nulls: 1, min: '', max: '😀' }],
  ['text', ['\ufeffx', '\ufeffx'], { nulls: 0, min: '\ufeffx', max: '\ufeffx' }],
  ['text', [null, null, 'b', 'a', null, null], { nulls: 4, min: 'a', max: 'b' }],
  ['text', [null, null, null], { nulls: 3 }],
  ['text', [], { nulls: 0 }],
  ['flag', [true, null, true], { nulls: 1, min: true, max: true }],
  ['flag', [false, true], { nulls: 0, min: false, max: true }],
  ['integer', [-(2n ** 63n), 5n, 2n ** 63n - 1n], { nulls: 0, min: -(2n ** 63n), max: 2n ** 63n - 1n }],
  ['integer', [9n, 10n, -9n, -10n], { nulls: 0, min: -10n, max: 10n }],
  ['decimal', [0, -0, 0, 0], { nulls: 0, min: -0, max: 0 }],
  ['decimal', [5e-324, -1e300, null, 0.1], { nulls: 1, min: -1e300, max: 0.1 }],
  ['timestamp', [new Date(-1), new Date(1)], { nulls: 0, min: new Date(-1), max: new Date(1) }],
  [
    'timestamp',
    [day('9999-12-31T23:59:59.999'), day('0001-01-01T00:00:00.001')],
    { nulls: 0, min: day('0001-01-01T00:00:00.001'), max: day('9999-12-31T23:59:59.999') },
  ],
  [
    'date',
    [day('1969-12-31T12:00'), null, day('0001-01-01T00:00')],
    { nulls: 1, min: day('0001-01-01T00:00'), max: day('1969-12-31T00:00') },
  ],
];

describe('the statistics of a file', () => {
  test.each(cases)('of %s %j are those of its values', async (type, values, known) => {
    const rows = values.map((value) => ({ [type]: value }));
    const found = await statistics(rows, { groupRows: 2 });
    expect([...found.keys()]).toEqual(types);
    const { bytes, ...rest } = found.get(type) ?? { bytes: 0 };
    expect(rest).toEqual(known);
    expect(bytes > 0).toBe(values.length > 0);
  });

  test('bound texts beyond the length at which they are cut', async () => {
    const unit = fc.constantFrom('a', 'z', '\x7f', 'é', '\u07ff', '\ud7ff', '\ue000', '\uffff', '😀', '\u{10fffe}', '\u{10ffff}');
    const text = fc.oneof(fc.string({ unit, minLength: 10, maxLength: 70 }), fc.constantFrom('\u{10ffff}'.repeat(100), 'z'.repeat(64)));
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 6 }), async (texts) => {
        const rows = texts.map((text) => ({ text }));
        const { min, max } = (await statistics(rows, { groupRows: 2 })).get('text') ?? {};
        const before = (one: unknown, other: string) => Buffer.compare(Buffer.from(String(one)), Buffer.from(other)) < 0;
        const outside = texts.filter((text) => before(text, String(min)) || before(max, text));
        expect(outside).toEqual([]);
      }),
    );
  });

  test('are unknown without counted nulls', async () => {
    expect(await statistics([{ text: 'a' }], { engine: 'parquetjs-lite' })).toEqual(new Map());
  });
});
