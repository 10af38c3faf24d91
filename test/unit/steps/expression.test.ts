import { collections, columnsOf } from '../../../src/collections/index.js';
import type { Column, Row, Value } from '../../../src/core/index.js';
import { batchFromRows, type RecordBatch } from '../../../src/vector/index.js';
import { compileExpression, type Expression } from '../../../src/steps/expression/expression.js';
import { ExpressionFault, functions } from '../../../src/steps/expression/functions.js';
import { outcomesOf } from '../../../src/steps/evaluation.js';
import { batchOfTexts } from '../../support/batches.js';
import { castTo } from './support.js';

/** When the run was first started. */
const start = new Date('2026-11-22T10:30:00Z');

/** Columns of text, as the service delivers them. */
function texts(...names: string[]): Column[] {
  return names.map((name) => ({ name, original: name, type: 'text', cast: false, sensitivity: 'plain' }));
}

function compiled(source: string, columns: readonly Column[] = texts('s', 't')): Expression {
  const result = compileExpression(source, columns, () => start);
  if (!('evaluate' in result)) throw new Error(result.message);
  return result;
}

function valueOf(source: string, row: Row = {}, columns: readonly Column[] = texts(...Object.keys(row))): Value {
  return compiled(source, columns).evaluate(row);
}

/** The message of the fault that an expression meets, which must be of the one kind that steps handle. */
function faultOf(source: string, row: Row, columns: readonly Column[] = texts(...Object.keys(row))): string {
  try {
    compiled(source, columns).evaluate(row);
  } catch (error) {
    if (error instanceof ExpressionFault) return error.message;
    throw error;
  }
  throw new Error(`${source} did not fail`);
}

function problemOf(source: string, columns: readonly Column[] = texts('s', 'zipcode')) {
  const result = compileExpression(source, columns);
  if ('evaluate' in result) throw new Error(`${source} compiles`);
  return result;
}

test('a field with a name that CEL reserves hinders no other field', () => {
  const words = ['prototype', '__proto__', 'constructor', 'function', 'in', 'null', 'true', 'list', 'dyn', 'has', 'zip_city', '2nd'];
  expect(valueOf("s == 'x'", { s: 'x' }, texts('s', ...words))).toBe(true);
  expect(problemOf("prototype == 'x'", texts('s', ...words))).toMatchObject({ message: expect.stringContaining('prototype') });
});

describe('a function of ours', () => {
  test.each(Object.entries(functions))('%s does what its example says', (_name, { example }) => {
    expect(valueOf(example)).toBe(true);
  });

  const [noon, day] = [new Date('2024-02-29T12:00:00Z'), new Date('2024-02-29T00:00:00Z')];

  test.each([
    ['area_code', { 2125550142: '212', '+1 (212) 555-0142': '212', '212.555.0142': '212', '': null }],
    ['area_code', { '0125550142': null, 1125550142: null, 22125550142: null, '212-555-0142 x9': null }],
    ['num', { 41: 41, '-1.5': -1.5, '': null }],
    ['date', { 20240229: day, '': null }],
    ['epoch', { 1709208000: noon, '': null }],
    ['flag', { YES: true, y: true, True: true, 1: true, No: false, n: false, false: false, 0: false, '': null }],
    ['blank', { '': true, ' \t\n': true, x: false, 0: false }],
  ])('%s reads texts: %j', (name, values) => {
    for (const [s, value] of Object.entries(values)) expect([s, valueOf(`${name}(s)`, { s })]).toEqual([s, value]);
  });

  test.each<[string, Value, Value]>([
    ['num(s)', 41n, 41],
    ['flag(s)', true, true],
    ['date(s)', noon, day],
    ['epoch(s)', noon, noon],
    ['month(dyn(s))', new Date('2024-02-29T23:59:59Z'), '2024-02'],
    ['month(dyn(s))', new Date('9999-12-31T23:59:59.999Z'), '9999-12'],
    ['blank(s)', null, true],
    ['blank(s)', false, false],
  ])('%s reads %p as %p, and leaves it alone', (source, s, value) => {
    expect(valueOf(source, { s })).toEqual(value);
    expect(noon).toEqual(new Date('2024-02-29T12:00:00Z'));
  });

  test.each([
    ['num', ['forty', '1,5', ' 1', 'NaN', '0x10']],
    ['date', ['20240230', '2024-02-29']],
    ['epoch', ['2024-02-29']],
    ['flag', ['maybe', ' yes']],
  ])('%s guesses nothing', (name, wrong) => {
    for (const s of wrong) expect(faultOf(`${name}(s)`, { s })).toBe(`${name}() cannot read the text`);
  });

  /** What an expression gives for a value, or the fault. */
  function outcome(source: string, s: Value): Value {
    try {
      return valueOf(source, { s }, texts('s'));
    } catch (error) {
      return String(error);
    }
  }

  const ofText = Object.entries(functions).flatMap(
    ([
      name,
      {
        takes: [first, ...more],
      },
    ]) => (more.length === 0 && (first?.includes('dyn') || first?.includes('string')) ? [name] : []),
  );

  test.each(ofText)('%s of a field gives without the interpreter what it gives with it', (name) => {
    for (const value of ['10001-1234', ' k1a 0b1 ', '212 555 0142', '20240229', '', ' ', 'x', 41, 41n, true, noon, null])
      expect([value, outcome(`${name}(s)`, value)]).toEqual([value, outcome(`${name}([s][0])`, value)]);
  });
});

describe('a function of several arguments', () => {
  test.each<[string, Row, Value]>([
    ['coalesce(s, t)', { s: null, t: 'b' }, 'b'],
    ['coalesce(s, t)', { s: ' ', t: '' }, ''],
    ["coalesce(s, '') == ''", { s: null }, true],
    ['coalesce(num(s), num(t), 0.0)', { s: '', t: null }, 0],
    ['coalesce(flag(s), true)', { s: 'no' }, false],
    ["replace(s, '.', '$&')", { s: 'a.b.' }, 'a$&b$&'],
    ["replace(s, '', 'x')", { s: 'ab' }, 'ab'],
    ["split(s, ',', 1)", { s: 'a,b' }, 'b'],
    ["split(s, ',', 2)", { s: 'a,b' }, null],
    ["split(s, ',', 0)", { s: '' }, ''],
    ["split(s, '', 0)", { s: '😀b' }, '😀'],
    ['format_time(epoch(s), "UTC", "HH \'o\'\'clock\'")', { s: '0' }, "00 o'clock"],
    ['substring(s, 1, 3)', { s: 'a😀b😀' }, '😀b'],
    ['substring(s, -2)', { s: 'a😀b😀' }, 'b😀'],
    ['substring(s, 5) + substring(s, 2, 1)', { s: 'abc' }, ''],
    ['round(1.0 / num(s)) > 5.0', { s: '0' }, true],
    ['digits(s)', { s: '٣ 1️⃣ +4' }, '14'],
    ["phone(s, 'US')", { s: '(212) 555-0142 x9' }, '+12125550142'],
    ["phone(s, 'US')", { s: ' +49 30 901820\n' }, '+4930901820'],
  ])('%s of %j is %j', (source, row, value) => {
    expect(valueOf(source, row)).toBe(value);
  });

  test.each([
    "replace(s, 'a', 'b')",
    "replace('a', s, 'b')",
    "replace('a', 'a', s)",
    "split(s, ',', 0)",
    'substring(s, 0)',
    'round(num(s), 2)',
    "format_time(epoch(s), 'UTC', 'yyyy')",
    "phone(s, 'CA')",
  ])('%s of null is null', (source) => {
    expect(valueOf(source, { s: null })).toBeNull();
  });

  test.each(['', 'x', '123', 'call (212) 555-0142', '21255501423', '😀', '1-800-FLOWERS'])('phone() of %j is null', (s) => {
    expect(valueOf("phone(s, 'US')", { s })).toBeNull();
  });

  test.each([
    [2.5, '0', 3],
    [-2.5, '0', -3],
    [-0.4, '0', 0],
    [1.005, '2', 1.01],
    [0.285, '2', 0.29],
    [1e21, '2', 1e21],
    [1.5e-7, '7', 2e-7],
    [123_456_789_012_345.67, '2', 123_456_789_012_345.67],
    [Number.MAX_VALUE, '20', Number.MAX_VALUE],
  ])('round(%p, %s) is %p', (value, places, rounded) => {
    expect(valueOf(`round(n, ${places})`, { n: value }, castTo({ n: 'decimal' }))).toBe(rounded);
  });

  test.each([
    ['2026-03-29T00:59:59Z', 'Europe/Berlin', '2026-03-29 01:59:59'],
    ['2026-03-29T01:00:00Z', 'Europe/Berlin', '2026-03-29 03:00:00'],
    ['2026-10-25T00:30:00Z', 'Europe/Berlin', '2026-10-25 02:30:00'],
    ['2026-10-25T01:30:00Z', 'Europe/Berlin', '2026-10-25 02:30:00'],
    ['2025-12-31T23:30:00Z', 'Europe/Berlin', '2026-01-01 00:30:00'],
    ['2026-01-01T00:00:00Z', 'America/St_Johns', '2025-12-31 20:30:00'],
    ['0033-06-01T00:00:00Z', 'UTC', '0033-06-01 00:00:00'],
  ])('format_time() of %s in %s is %s', (instant, zone, text) => {
    expect(valueOf(`format_time(at, '${zone}', 'yyyy-MM-dd HH:mm:ss')`, { at: new Date(instant) }, castTo({ at: 'timestamp' }))).toBe(text);
  });

  test('a text that is declared as an instant is read as one', () => {
    const source = "format_time(timestamp, 'UTC', \"dd.MM. 'um' HH''mm\")";
    expect(valueOf(source, { timestamp: '0' }, columnsOf(collections.leads))).toBe("01.01. um 00'00");
  });

  test('the text that calls of replace() within each other make is bounded', () => {
    const source = Array.from({ length: 30 }).reduce<string>((inner) => `replace(${inner}, 'a', 'aaaaaaaaaa')`, 's');
    expect(faultOf(source, { s: 'a' })).toBe('replace() makes a text that is too long');
  });
});

test.each([
  ["'a-b'.contains('-') && 'ab'.startsWith('a') && 'ab'.endsWith('b') && 'b' in ['a', 'b']"],
  ["'a-b-c'.indexOf('-') == 1 && 'a-b-c'.lastIndexOf('-') == 3 && '90210'.substring(1, 3) == '02'"],
  ["' A'.trim().lowerAscii() == 'a' && 'a'.upperAscii() == 'A' && size('ab') == 2"],
  ["'a-b'.split('-')[0] == 'a' && ['a', 'b'].join('-') == 'a-b' && size('a-b'.split('-')) == 2"],
  ["['a', 'b'].map(x, x + '!') == ['a!', 'b!'] && ['a'].all(x, x == 'a') && ['a', 'b'].exists_one(x, x == 'a')"],
])("CEL's own functions in the reference work: %s", (source) => {
  expect(valueOf(source)).toBe(true);
});

test.each([
  ["lead_status != 'sold'", ['lead_status']],
  ["uid != '1' && lower(lead_status) != 'sold'", ['uid', 'lead_status']],
  ['uid != lead_id || uid != bridge_id', ['lead_id', 'bridge_id', 'uid']],
  ["lead_status != 'sold' && lead_status != null", []],
  ["!blank(lead_status) && lead_status != 'sold'", []],
  ["coalesce(lead_status, '') != 'sold'", []],
  ["lead_status == 'sold' || uid != null", []],
  ["'a' != 'b'", []],
])('!= beside fields that may be null is noted: %s', (source, fields) => {
  const { notes } = compiled(source, columnsOf(collections.leads));
  expect(new Set(notes.map((note) => /where (\w+) is null/.exec(note)?.[1]))).toEqual(new Set(fields));
});

test.each([
  ['now()', 'timestamp', '2026-11-22T10:30:00.000Z'],
  ['run_date()', 'date', '2026-11-22T00:00:00.000Z'],
  ['days_before(0)', 'date', '2026-11-22T00:00:00.000Z'],
  ['days_before(7)', 'date', '2026-11-15T00:00:00.000Z'],
  ["now() - duration('90m')", 'timestamp', '2026-11-22T09:00:00.000Z'],
])('the clock is the first start of the run: %s is a %s', (source, type, instant) => {
  expect(compiled(source)).toMatchObject({ type, names: [] });
  expect(valueOf(source)).toEqual(new Date(instant));
});

describe('a field that is text and declares to be an instant or a day', () => {
  const columns = columnsOf(collections.leads);
  const seconds = (text: string) => String(Date.parse(text) / 1000);
  const row = { timestamp: seconds('2026-11-15T00:00:00Z'), yearmonthday: '20261115', lead_status: 'sold' };

  test.each([
    ['timestamp >= days_before(7)', true],
    ['days_before(6) <= timestamp', false],
    ['timestamp == days_before(7) && timestamp != now()', true],
    ['yearmonthday >= days_before(7) && yearmonthday < run_date()', true],
    ["now() - timestamp > duration('168h')", true],
    ["month(timestamp) == '2026-11' && month(yearmonthday) == month(days_before(7))", true],
    ["timestamp == '" + seconds('2026-11-15T00:00:00Z') + "'", true],
  ])('is read as such beside an instant: %s', (source, expected) => {
    expect(valueOf(source, row, columns)).toBe(expected);
    expect(compiled(source, columns).warnings).toEqual([]);
  });

  test('is null where it is empty, and an error of the row where it cannot be read', () => {
    expect(valueOf('timestamp >= days_before(7)', { ...row, timestamp: '' }, columns)).toBeNull();
    expect(faultOf('timestamp >= days_before(7)', { ...row, timestamp: 'soon' }, columns)).toBe('epoch() cannot read the text');
  });
});

const rows: readonly Row[] = [
  { s: '41', t: null, u: 'x' },
  { s: 'x', t: 'y', u: 'x' },
  { s: '', t: '41', u: '' },
  { s: '41', t: 'x', u: '1' },
];

/** What each gives for every row of some pages. */
function outcomes(expressions: readonly Expression[], ...batches: readonly RecordBatch[]) {
  const outcomesIn = outcomesOf(new Map(expressions.map((expression, index) => [String(index), expression])));
  return batches.map((batch) =>
    Array.from(outcomesIn(batch).values(), ({ vector, unfit }) => vector.toArray().map((value, row) => ({ value, reason: unfit?.(row) }))),
  );
}

test('expressions over a batch give what they give for its rows, also for texts that come again', () => {
  const sources = ['num(s)', 'int(s)', 'num(t)', 's == t', "[u, s].exists(x, x == 'x')", '1 + 1', 'num(v)'];
  const expressions = sources.map((source) => compiled(source, texts('s', 't', 'u', 'v')));
  const [expected] = outcomes(expressions, batchFromRows(rows));
  expect(expected?.flat()).toContainEqual({ value: null, reason: expect.any(String) });
  expect(outcomes(expressions, batchOfTexts(rows), batchOfTexts(rows))).toEqual([expected, expected]);
});

describe('a conversion of CEL', () => {
  const malformed = ['', ' ', '\t', ' 12 ', '12 ', '0x10', '0b1', '0o7', '1_000', '12abc', '1,5', '+', '-', '--1', '٣', 'x'];
  const instants = ['2024-02-30T00:00:00Z', '2024-02-29 12:00:00Z', '2024-02-29T12:00:00', '20240229', '1709208000'];
  const refused: Readonly<Record<string, readonly string[]>> = {
    int: [...malformed, '1e3', '1.0', '1.', '.5'],
    uint: [...malformed, '1e3', '1.0', '-1', '+1'],
    double: [...malformed, '.', 'e3', '1e', '1e999', '1e-400', '9007199254740993', '1.5f', '0x1p3'],
    bool: [...malformed, 'yes', 'tRUE', ' true', '2'],
    timestamp: [...malformed, ...instants, ' '.repeat(24)],
    duration: [...malformed, 's', '.s', '1', '1h ', '1 h', '-', 'h1', '1hs'],
  };

  test.each(Object.entries(refused))('%s() refuses what it does not spell', (name, texts) => {
    for (const s of texts) expect([s, faultOf(`${name}(s) == ${name}(s)`, { s })]).toEqual([s, `${name}() cannot read the text`]);
  });

  test.each<[string, string, Value]>([
    ['int(s)', '-012', -12n],
    ['int(s)', '+7', 7n],
    ['uint(s) == 12u', '12', true],
    ['double(s)', '1e3', 1000],
    ['double(s)', '-.5', -0.5],
    ['bool(s)', 'TRUE', true],
    ['timestamp(s)', '2024-02-29T12:00:00.5+02:00', new Date('2024-02-29T10:00:00.5Z')],
    ["duration(s) == duration('90m')", '1h30m', true],
    ["duration(s) == duration('-90s')", '-1.5m', true],
    ['int(num(s))', '12.7', 12n],
  ])('%s reads %j', (source, s, value) => {
    expect(valueOf(source, { s })).toEqual(value);
  });

  test.each(["['a'].exists(x, int(s) < 18)", 'cel.bind(n, int(s), n < 18)', 'blank(s) ? int(s) < 1 : true'])(
    'refuses it wherever it stands: %s',
    (source) => {
      expect(faultOf(source, { s: '' })).toBe('int() cannot read the text');
    },
  );
});

test('texts have the order of their code points, as in sort, sql and Parquet', () => {
  const words = ['', 'a', 'ab', '\ud7ff', '\ue000', '\uff5a', '😀', '\u{10ffff}'];
  const forms: readonly ((sign: string, t: string) => string)[] = [
    (sign) => `s ${sign} t`,
    (sign) => `string(s) ${sign} string(t)`,
    (sign) => `[s].exists(x, x ${sign} t)`,
    (sign, t) => `s ${sign} ${JSON.stringify(t)}`,
  ];
  for (const [s, t] of words.flatMap((one) => words.map((other) => [one, other] as const))) {
    const order = Buffer.compare(Buffer.from(s), Buffer.from(t));
    const expected = { '<': order < 0, '<=': order <= 0, '>': order > 0, '>=': order >= 0 };
    for (const form of forms)
      for (const [sign, holds] of Object.entries(expected))
        expect([s, sign, t, valueOf(form(sign, t), { s, t })]).toEqual([s, sign, t, holds]);
  }
});

describe('null', () => {
  test.each([
    ...['<', '<=', '>', '>='].flatMap((order) => [
      `num(s) ${order} 18`,
      `18 ${order} num(s)`,
      `num(s) ${order} 18.5`,
      `num(s) ${order} num(t)`,
    ]),
    ...['+', '-', '*', '/'].flatMap((sign) => [`num(s) ${sign} 2.0`, `2.0 ${sign} num(s)`, `num(s) ${sign} num(t)`]),
    '-num(s)',
    '!flag(s)',
    '!(num(s) > 18)',
    "date(s) < date('20240101')",
    "epoch(s) + duration('1h')",
    'num(s) > 18 && true',
    'false || num(s) > 18 || num(t) > 18',
    '(num(s) > 18) < true',
    '[1.0, 2.0].map(x, x + num(s))[0] < 3.0',
  ])('is what comes of null where it is compared by size, calculated with or decides: %s', (source) => {
    expect(valueOf(source, { s: '', t: null })).toBeNull();
  });

  test.each<[string, Value]>([
    ['num(s) > 18 && false', false],
    ['num(s) > 18 || true', true],
    ['num(s) == 18', false],
    ["(num(s) > 18) == null ? 'unknown' : 'known'", 'unknown'],
    ['(num(s) + 1.0) == 1.0', false],
  ])('leaves the decision to the other side: %s is %j', (source, value) => {
    expect(valueOf(source, { s: '', t: 'forty' })).toBe(value);
  });

  test('hides no failure', () => {
    for (const source of [
      'num(t) > 18 || num(s) > 18',
      'num(s) > 18 || num(t) > 18',
      'num(t) > 18 && num(s) > 18',
      'num(s) > 18 && num(t) > 18',
    ])
      expect(faultOf(source, { s: '', t: 'forty' })).toBe('num() cannot read the text');
  });

  test('is neither taken for a flag, nor the condition of a choice, which would have to guess', () => {
    for (const source of ['string(num(s) > 18)', 'bool(!flag(s))', 'string(flag(s) && true)', "num(s) > 18 ? 'adult' : 'minor'"])
      expect(faultOf(source, { s: '' })).not.toBe('');
  });

  test('of a cast column counts, too', () => {
    const columns = castTo({ whole: 'integer', at: 'timestamp', flag: 'flag', word: 'text' });
    for (const source of ['whole > 18', 'whole % 2', 'at < epoch(word)', '!flag', 'flag && flag', "word > 'a'", 'whole > 1.5'])
      expect([source, valueOf(source, {}, columns)]).toEqual([source, null]);
  });
});

const list = (values: number) => `[${Array.from({ length: values }, (_, value) => value).join()}]`;
const binds = Array.from({ length: 40 }, (_, depth) => depth).reduceRight(
  (body, depth) => `cel.bind(v${depth + 1}, v${depth} + v${depth}, ${body})`,
  'v40.size() > 0',
);

test.each([
  ['a comprehension within another', "['a'].exists(x, ['b'].exists(y, x == y))", 'a comprehension'],
  ['a bind within another, which doubles what it binds', binds.replace('v0 + v0', '[s]'), 'cel.bind'],
  ['a sum of more than 5,000 parts', Array.from({ length: 6_000 }, () => '1').join(' + '), 'maxAstNodes'],
  ['lists side by side', `[0].exists(x, x in ${Array.from({ length: 60 }, () => list(99)).join(' + ')})`, 'maxAstNodes'],
  ['deep brackets', `${'('.repeat(300)}s${')'.repeat(300)}`, 'maxDepth'],
  ['deep negations', `${'!'.repeat(60_000)}true`, 'deep'],
  ['a pattern', "['a'].exists(x, s.matches(x))", 'matches'],
  ['a pattern of constants', "'x'.matches(s)", 'matches'],
])('an expression that could take for ever is refused: %s', (_what, source, message) => {
  expect(problemOf(source).message).toContain(message);
});

describe('the type of an expression', () => {
  const columns = [
    ...texts('s'),
    ...castTo({ flag: 'flag', whole: 'integer', share: 'decimal', at: 'timestamp', day: 'date', word: 'text' }),
  ];

  test.each(
    Object.entries({
      text: ["'x'", 's', "s + '!'", "s == 'x' ? s : word", 'null'],
      integer: ['whole', 'size(s)', 'int(s)'],
      decimal: ['num(s)', 'num(s) / 2.0'],
      flag: ['flag', "s == 'x'", "s in ['a', 'b']"],
      timestamp: ['at', 'epoch(s)', "at + duration('1h')"],
      date: ['date(s)', 'date(at)'],
    }),
  )('can be %s', (type, sources) => {
    for (const source of sources) expect([source, compiled(source, columns).type]).toEqual([source, type]);
  });

  test('refuses a whole number beyond 64 bits', () => {
    expect(faultOf('int(num(s))', { s: '1e300' })).toBe('the result does not fit the type of its column');
  });
});

test('a column that the row lacks counts as null', () => {
  const sources = ['s == null', 's', "['a', 'b'].exists(x, x == s)", 'blank(s)'];
  expect(sources.map((source) => valueOf(source, {}, texts('s')))).toEqual([true, null, false, true]);
});

test.each([
  'int(s)',
  'timestamp(s)',
  "{'a': 1}[s]",
  '[1, 2][int(size(s))]',
  'dyn(s).field == 1',
  'dyn(s) + 1',
  's.substring(1000)',
  '1 / (size(s) - size(s))',
  'bytes(s).json().a',
  'num(s)',
  '9223372036854775807 + size(s)',
])('a fault of %s is of our kind and does not show the value', (source) => {
  const message = faultOf(source, { s: 'Geheim-4711' });
  expect(message).not.toBe('');
  for (const part of ['eheim', '4711']) expect(message).not.toContain(part);
});
