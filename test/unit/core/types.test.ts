import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { declaredTypes, parserOf, textOf, type DeclaredType, type Value } from '../../../src/core/index.js';
import { anyText } from '../../support/texts.js';

const refused = undefined;

/** What each text becomes under each type; `refused` where it does not cast. */
const casts: { readonly [T in DeclaredType]: readonly (readonly [text: string, value: Value | undefined])[] } = {
  text: [
    ['', ''],
    [' ', ' '],
    ['007', '007'],
    ['Zürich 😀', 'Zürich 😀'],
    ['\u0000', '\u0000'],
    ['\ud83d', refused],
    ['a\ude00b', refused],
    ['\ude00\ud83d', refused],
  ],
  flag: [
    ['yes', true],
    ['YES', true],
    ['Yes', true],
    ['y', true],
    ['Y', true],
    ['true', true],
    ['TRUE', true],
    ['1', true],
    ['no', false],
    ['No', false],
    ['n', false],
    ['N', false],
    ['False', false],
    ['0', false],
    ['', null],
    [' ', refused],
    [' yes', refused],
    ['yes ', refused],
    ['on', refused],
    ['2', refused],
    ['-1', refused],
    ['null', refused],
  ],
  integer: [
    ['0', 0n],
    ['41', 41n],
    ['007', 7n],
    ['-3', -3n],
    ['+5', 5n],
    ['-0', 0n],
    ['9007199254740991', 2n ** 53n - 1n],
    ['9007199254740992', 2n ** 53n],
    ['9007199254740993', 2n ** 53n + 1n],
    ['9223372036854775807', 2n ** 63n - 1n],
    ['9223372036854775808', refused],
    ['-9223372036854775808', -(2n ** 63n)],
    ['-9223372036854775809', refused],
    ['99999999999999999999', refused],
    ['', null],
    [' 1', refused],
    ['1 ', refused],
    ['1\n', refused],
    ['1.0', refused],
    ['1,000', refused],
    ['1e3', refused],
    ['0x10', refused],
    ['--1', refused],
    ['+-1', refused],
    ['+', refused],
    ['١', refused],
    ['NaN', refused],
  ],
  decimal: [
    ['0', 0],
    ['12.5', 12.5],
    ['-12.50', -12.5],
    ['+5', 5],
    ['-0', -0],
    ['.5', 0.5],
    ['5.', 5],
    ['1e3', 1000],
    ['1E-3', 0.001],
    ['1.7976931348623157e308', Number.MAX_VALUE],
    ['1e309', refused],
    ['', null],
    ['.', refused],
    ['e3', refused],
    ['1e', refused],
    [' 1', refused],
    ['1 ', refused],
    ['1,5', refused],
    ['1.2.3', refused],
    ['NaN', refused],
    ['Infinity', refused],
    ['-Infinity', refused],
    ['0x10', refused],
    ['1_000', refused],
    ['12%', refused],
  ],
  timestamp: [
    ['0', new Date('1970-01-01T00:00:00Z')],
    ['1709164800', new Date('2024-02-29T00:00:00Z')],
    ['-1', new Date('1969-12-31T23:59:59Z')],
    ['-62135596800', new Date('0001-01-01T00:00:00Z')],
    ['8640000000000', new Date(8.64e15)],
    ['8640000000001', refused],
    ['-8640000000000', new Date(-8.64e15)],
    ['-8640000000001', refused],
    ['', null],
    ['1709164800.5', refused],
    ['+1', refused],
    [' 0', refused],
    ['1e9', refused],
    ['2024-02-29', refused],
  ],
  date: [
    ['20240115', new Date('2024-01-15T00:00:00Z')],
    ['20240229', new Date('2024-02-29T00:00:00Z')],
    ['20230229', refused],
    ['20240230', refused],
    ['20000229', new Date('2000-02-29T00:00:00Z')],
    ['19000229', refused],
    ['19691231', new Date('1969-12-31T00:00:00Z')],
    ['00010101', new Date('0001-01-01T00:00:00Z')],
    ['00990101', new Date('0099-01-01T00:00:00Z')],
    ['99991231', new Date('9999-12-31T00:00:00Z')],
    ['20241301', refused],
    ['20240001', refused],
    ['20240100', refused],
    ['20240132', refused],
    ['20240431', refused],
    ['', null],
    ['2024011', refused],
    ['202401150', refused],
    ['2024-01-15', refused],
    [' 20240115', refused],
    ['00000000', refused],
  ],
};

describe.each(declaredTypes)('a cast to %s', (type) => {
  const accepted = casts[type].filter(([, value]) => value !== refused);

  test.each(accepted)('reads %j as %p', (text, value) => {
    expect(parserOf(type)(text)).toStrictEqual(value);
  });

  test.each(casts[type].filter(([, value]) => value === refused).map(([text]) => [text]))('refuses %j', (text) => {
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

test('decimals read back any number that JavaScript writes', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      expect(parserOf('decimal')(String(value))).toBe(Object.is(value, -0) ? 0 : value);
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

describe('textOf', () => {
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
  ])('writes %p of type %s as %j', (value, type, text) => {
    expect(textOf(value, type)).toBe(text);
  });
});
