import fc from 'fast-check';
import { declaredTypes, parserOf, textOf, instantTexts, type DeclaredType, type Value } from '../../../src/core/index.js';
import { anyText } from '../../support/texts.js';

/** What each text becomes under each type. */
const accepted: { readonly [T in DeclaredType]: Readonly<Record<string, Value>> } = {
  text: { '': '', ' ': ' ', '007': '007', 'Zürich 😀': 'Zürich 😀', '\u0000': '\u0000' },
  flag: { yes: true, YES: true, y: true, TRUE: true, '1': true, No: false, n: false, False: false, '0': false, '': null },
  integer: {
    '007': 7n,
    '-3': -3n,
    '+5': 5n,
    '-0': 0n,
    '9007199254740993': 2n ** 53n + 1n,
    '9223372036854775807': 2n ** 63n - 1n,
    '-9223372036854775808': -(2n ** 63n),
    '': null,
  },
  decimal: {
    ...{ '12.50': 12.5, '+5': 5, '-0': -0, '.5': 0.5, '5.': 5, '1E-3': 0.001, '0e-999': 0, '': null },
    ...{ '33.3333333333333333': 33.333_333_333_333_336, '9007199254740993.5': 2 ** 53 + 2, '5e-324': Number.MIN_VALUE },
    ...{ '9007199254740994': 2 ** 53 + 2, '90071992547409920e-1': 2 ** 53, '99999999999999991611392': 1e23, '-1e23': -1e23 },
    '1.7976931348623157e308': Number.MAX_VALUE,
  },
  timestamp: {
    '0': new Date('1970-01-01T00:00:00Z'),
    '1709164800': new Date('2024-02-29T00:00:00Z'),
    '-62135596800': new Date('0001-01-01T00:00:00Z'),
    '253402300799': new Date('9999-12-31T23:59:59Z'),
    '': null,
  },
  date: {
    '20240229': new Date('2024-02-29T00:00:00Z'),
    '20000229': new Date('2000-02-29T00:00:00Z'),
    '00010101': new Date('0001-01-01T00:00:00Z'),
    '00990101': new Date('0099-01-01T00:00:00Z'),
    '99991231': new Date('9999-12-31T00:00:00Z'),
    '': null,
  },
};

const refused: Readonly<Record<DeclaredType, readonly string[]>> = {
  text: ['\ud83d', 'a\ude00b', '\ude00\ud83d'],
  flag: [' ', ' yes', 'yes ', 'on', '2', '-1', 'null'],
  integer: ['9223372036854775808', '-9223372036854775809', ' 1', '1\n', '1.0', '1,000', '1e3', '0x10', '--1', '+', '١', 'NaN'],
  decimal: ['1e309', '.', 'e3', '1e', ' 1', '1 ', '1,5', '1.2.3', 'NaN', 'Infinity', '-Infinity', '0x10', '1_000', '12%'].concat(
    ...['9007199254740993', '-9007199254740993.0', '90071992547409930e-1', '9.007199254740993e15', '100000000000000000000000'],
    ...['1e-400', '-0.1e-323', `0.${'0'.repeat(400)}1`],
  ),
  timestamp: ['253402300800', '-62135596801', '1700000000000', '99999999999999999999', '1709164800.5', '+1', ' 0', '1e9', '2024-02-29'],
  date: [...'20230229 20240230 19000229 20241301 20240001 20240100 2024011 202401150 2024-01-15 00000000 00000101'.split(' '), ' 20240115'],
};

describe.each(declaredTypes)('a cast to %s', (type) => {
  test.each(Object.entries(accepted[type]))('reads %j as %p', (text, value) => {
    expect(parserOf(type)(text)).toStrictEqual(value);
  });

  test.each(refused[type])('refuses %j', (text) => {
    expect(parserOf(type)(text)).toBeUndefined();
  });

  test('never throws, whatever the text', () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        parserOf(type)(text);
      }),
    );
  });
});

test('integers are exact over all 64 bits', () => {
  fc.assert(fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => parserOf('integer')(String(value)) === value));
});

test('decimals read back any number that JavaScript writes, unless its digits are those of another whole number', () => {
  const large = fc.double({ noNaN: true, min: 2 ** 53, max: 1e21 });
  fc.assert(
    fc.property(fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), large), (value) => {
      const text = String(value);
      const isOther = /^-?\d{16,}$/.test(text) && BigInt(text) !== BigInt(value);
      expect(parserOf('decimal')(text)).toBe(isOther ? undefined : Object.is(value, -0) ? 0 : value);
    }),
  );
});

test('decimals are exact for whole numbers of any size', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (whole) => {
      expect(parserOf('decimal')(String(whole))).toBe(BigInt(Number(whole)) === whole ? Number(whole) : undefined);
    }),
  );
});

test('days read back any day of four-digit years', () => {
  const days = fc.date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true });
  fc.assert(
    fc.property(days, (instant) => {
      const day = instant.toISOString().slice(0, 10);
      expect(parserOf('date')(day.replaceAll('-', ''))?.toISOString()).toBe(`${day}T00:00:00.000Z`);
    }),
  );
});

test.each<[Value, DeclaredType, string | null]>([
  [null, 'text', null],
  [null, 'date', null],
  ['', 'text', ''],
  ['007', 'integer', '007'],
  [true, 'flag', 'true'],
  [false, 'flag', 'false'],
  [2n ** 63n - 1n, 'integer', '9223372036854775807'],
  [-0, 'decimal', '0'],
  [12.5, 'decimal', '12.5'],
  [new Date('2024-02-29T12:30:00.500Z'), 'timestamp', '2024-02-29T12:30:00.500Z'],
  [new Date('2024-02-29T00:00:00Z'), 'date', '2024-02-29'],
  [new Date('0001-01-01T00:00:00Z'), 'date', '0001-01-01'],
  [new Date('+012024-02-29T00:00:00Z'), 'date', '+012024-02-29'],
])('textOf writes %p of type %s as %j', (value, type, text) => {
  expect(textOf(value, type)).toBe(text);
});

const instant = fc.oneof(
  fc.date({ noInvalidDate: true }),
  fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(10 * 86_400_000) }),
  fc
    .constantFrom(-8_640_000_000_000_000, -62_198_755_200_001, -1, 0, 951_782_400_000, 253_402_300_800_000, 8_640_000_000_000_000)
    .map((ms) => new Date(ms)),
);

test('instants and days have the texts that they have alone', () => {
  const text = instantTexts();
  fc.assert(
    fc.property(instant, fc.constantFrom('timestamp', 'date'), (date, type) => {
      expect(text(date, type)).toBe(textOf(date, type));
    }),
    { numRuns: 300 },
  );
});

test('instants of more days than are remembered have theirs', () => {
  const text = instantTexts();
  for (let day = 0; day < 9000; day += 1) {
    const date = new Date(day * 86_400_000 + day);
    expect([text(date, 'date'), text(date, 'timestamp')]).toEqual([textOf(date, 'date'), textOf(date, 'timestamp')]);
  }
});
