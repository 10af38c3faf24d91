import { describe, expect, test } from '@jest/globals';
import { collections, columnsOf } from '../../../src/collections/index.js';
import type { Column, Row, Value } from '../../../src/core/index.js';
import { batchFromRows, type RecordBatch } from '../../../src/vector/index.js';
import { ExpressionFault } from '../../../src/steps/expression/fault.js';
import { expressionsOver, type Expression } from '../../../src/steps/expression/expression.js';
import { functions } from '../../../src/steps/expression/functions.js';
import { outcomesOf } from '../../../src/steps/expression/outcomes.js';
import { steps } from '../../../src/steps/registry.js';
import { batchOfTexts } from '../../support/batches.js';
import { castTo, opened, planned, rowsThrough, runtime } from './support.js';

/** When the run was first started. */
const start = new Date('2026-11-22T10:30:00Z');

/** Columns of text, as the service delivers them. */
function texts(...names: string[]): Column[] {
  return names.map((name) => ({ name, original: name, type: 'text', cast: false, sensitivity: 'plain' }));
}

function compiled(source: string, columns: readonly Column[] = texts('s', 't')): Expression {
  const result = expressionsOver(columns, () => start).compile(source);
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
  const result = expressionsOver(columns).compile(source);
  if ('evaluate' in result) throw new Error(`${source} compiles`);
  return result;
}

describe('an expression that cannot be read', () => {
  const columns: Column[] = [
    ...texts('email', 'zipcode'),
    { name: 'lead_accepted', original: 'LEAD ACCEPTED', type: 'text', cast: false, sensitivity: 'plain' },
  ];

  test.each([
    ["email == 'x' and blank(email)", 13, "'and' is written && here"],
    ["email == 'x' AND blank(email)", 13, "'and' is written && here"],
    ["email == 'x' or blank(email)", 13, "'or' is written || here"],
    ['not blank(email)', 0, "'not' is written ! here, like !blank(email)"],
    ["email = 'x'", 6, "'=' is written == here"],
    ["email === 'x'", 6, "'===' is written == here"],
    ["email <> 'x'", 6, "'<>' is written != here"],
    ["email == 'x' & blank(email)", 13, "'&' is written && here"],
    ["== 'x'", 0, 'a field is missing before =='],
    ['email == \u2018x\u2019', 9, 'text needs straight quotes, \' or ", not \u2018'],
    ["row => row.email == 'x'", 4, 'an expression names the fields of the row directly, without a function around it'],
    ["(r) => r.email == 'x'", 4, 'an expression names the fields of the row directly, without a function around it'],
    ["email & zipcode == 'x'", 0, 'text is joined with +, as in email + zipcode'],
    ["email ?? 'none' == 'x'", 6, "there is no ??; use (blank(email) ? 'none' : email)"],
    ["email == 'x' && || blank(email)", 16, 'something is missing before ||'],
    ["email LIKE '%.ca'", 6, "there is no LIKE; use contains, startsWith or endsWith, like email.endsWith('.ca')"],
    ["email contains '.ca'", 6, "'contains' is called with a dot here, like email.contains('.ca')"],
    ["email ~ '.ca'", 6, 'there are no regular expressions; use contains, startsWith or endsWith'],
    ["email IN ('a', 'b')", 6, "write a list in brackets after in, like in ['a', 'b']"],
    ["email in ('a', 'b')", 13, "write a list in brackets, like in ['a', 'b']"],
    ['email IS NOT NULL', 6, "'is not null' is written !blank(email) here"],
    ['email is null', 6, "'is null' is written blank(email) here"],
    ["email == 'x' && zipcode IS NULL", 24, "'is null' is written blank(zipcode) here"],
    ["email is 'x'", 6, "'is' is written == here, and 'is null' is written blank(email)"],
    ["email IN ['x']", 6, "'IN' is written in here, in lower case"],
    ["__proto__ == 'x'", 0, "'__proto__' is a reserved word of CEL; rename a field of that name first"],
    ["email __proto__ 'x'", 6, "an operator is missing before '__proto__'"],
    ["email constructor 'x'", 6, "an operator is missing before 'constructor'"],
    ['toString email', 9, "an operator is missing before 'email'"],
    ["CASE WHEN blank(email) THEN 'a' END", 5, "'case when' is written condition ? value : other here"],
    ["if(blank(email), 'a', 'b')", 0, "'if' is written condition ? value : other here"],
    ["LEAD ACCEPTED == 'yes'", 0, "the field 'LEAD ACCEPTED' is called lead_accepted here"],
    ["email == 'x' && lead accepted == 'yes'", 16, "the field 'LEAD ACCEPTED' is called lead_accepted here"],
    ["lead_accepted == 'LEAD ACCEPTED and' or blank(email)", 37, "'or' is written || here"],
    ["`email` == 'x'", 0, 'write names without quotes'],
    ["$email == 'x'", 0, 'write a name without a $'],
    ["email == 'x';", 12, 'an expression has no semicolon'],
    ["email == 'it''s'", 13, "a quote inside text is written \\'"],
    ["email == 'x", 9, 'the text that begins here is not closed'],
    ["email == 'x' 'y'", 13, 'an operator is missing before this text'],
    ["email == 'x' zipcode", 13, "an operator is missing before 'zipcode'"],
    ['email ==', 8, 'something is missing at the end'],
    ["(email == 'x'", 13, 'a ) is missing at the end'],
    ["email in ['x'", 13, 'a ] is missing at the end'],
  ])('%j is told at %i: %s', (source, at, message) => {
    expect(problemOf(source, columns)).toEqual({ at, message });
  });

  test.each([
    ['email == NULL', "did you mean 'null'?"],
    ['email == None', "unknown field 'None', did you mean 'null'?"],
    ['email == nil', "unknown field 'nil', did you mean 'null'?"],
    ["zip_state == 'ON'", "'zip_state' is a function, not a field; it takes text: zip_state('…'); string(…) converts other values"],
    ['blank(email) == TRUE', "did you mean 'true'?"],
    ["LeadAccepted == 'yes'", "did you mean 'lead_accepted'?"],
    ["LEAD_ACCEPTED == 'yes'", "did you mean 'lead_accepted'?"],
    ['count(email)', `unknown function 'count'; besides those of CEL there are ${Object.keys(functions).join(', ')}`],
    ['math.pow(email)', `unknown function 'math.pow'; besides those of CEL there are ${Object.keys(functions).join(', ')}`],
    ['email.foo()', `unknown function 'foo'; besides those of CEL there are ${Object.keys(functions).join(', ')}`],
    ["email.startWith('a')", "unknown function 'startWith', did you mean 'startsWith'?"],
    ['zip_state(zip)', "unknown field 'zip', did you mean 'zipcode'?"],
    ["accepted == 'x'", "unknown field 'accepted', did you mean 'lead_accepted'?"],
  ])('%j has a name that is unknown: %s', (source, message) => {
    expect(planned(steps.derive, { x: source }, columns).problems[0]?.message).toContain(message);
  });
});

describe('an expression with a part that always fails', () => {
  test.each([
    ['1/0 == 1', '1/0 fails for every row: division by zero', 0],
    ["s == 'a' || int(s) % 0 == 1", 'int(s) % 0 fails for every row: division by zero', 12],
    ['[1,2][5] == 1', '[1,2][5] fails for every row: No such key: index out of bounds, index 5 >= size 2', 0],
    ["{'a':1}['b'] == 1", "{'a':1}['b'] fails for every row: No such key: b", 0],
    ["s == 'abc'.substring(9)", "'abc'.substring(9) fails for every row: ", 5],
    ['9223372036854775807 + 1 > 0', '9223372036854775807 + 1 fails for every row: integer overflow', 0],
    ["epoch(s).getHours('America/New_Yrok')", "there is no time zone 'America/New_Yrok'; did you mean 'America/New_York'?", 0],
    ['(1+1)*(2/(1-1)) == 2', '(1+1)*(2/(1-1)) == 2 fails for every row: division by zero', 1],
  ])('%s is refused', (source, message, at) => {
    expect(expressionsOver(texts('s')).compile(source)).toMatchObject({ message: expect.stringContaining(message), at });
  });

  test.each([
    "epoch(s).getHours('America/New_York')",
    '1/2 == 0',
    "'abc'.substring(2) == s",
    "now() - duration('1h')",
    'days_before(7) < run_date()',
    "[1, 2].exists(x, x / 2 == 1) || s == 'a'",
    "s == '' ? null : s",
  ])('%s is taken', (source) => {
    expect(expressionsOver(texts('s')).compile(source)).toHaveProperty('evaluate');
  });
});

describe('a function of ours', () => {
  test.each(Object.entries(functions))('%s does what its example says', (_name, { example }) => {
    expect(valueOf(example)).toBe(true);
  });

  test.each(Object.entries(functions))('%s has its own name in its example, and a summary', (name, { example, summary }) => {
    expect(example).toContain(`${name}(`);
    expect(summary).toMatch(/^[A-Z].*\.$/);
  });

  /** What a cast makes of a field, by the types of CEL. */
  const casts = {
    string: 'text',
    int: 'integer',
    double: 'decimal',
    bool: 'flag',
    'google.protobuf.Timestamp': 'timestamp',
  } as const;
  const ofOne = Object.entries(functions).filter(([name, { takes }]) => takes.length > 0 && name !== 'blank');
  const taking = ofOne.flatMap(
    ([
      name,
      {
        takes: [type],
      },
    ]) => (type === undefined || type === 'dyn' ? [] : [[name, castTo({ s: casts[type] })] as const]),
  );
  const everyType = ofOne.flatMap(([name, { takes }]) =>
    (Object.keys(casts) as (keyof typeof casts)[]).map((type) => [name, casts[type], takes.includes(type)] as const),
  );

  test.each(everyType)('%s of a field that is cast to %s can be right: %s', (name, type, right) => {
    const { problems } = planned(steps.derive, { x: `${name}(s)` }, castTo({ s: type }));
    expect(problems.map(({ message }) => message)).toEqual(right ? [] : [expect.stringContaining(`${name}() takes `)]);
  });

  test.each(["lower(num('7'))", 'zip_city(1)', "trim(flag('yes'))", "zip_prefix(epoch('0'))", 'num(true)'])(
    'is refused on the result that it cannot take: %s',
    (source) => {
      expect(planned(steps.derive, { x: source }, texts('s')).problems[0]?.message).toMatch(/\(\) takes /);
    },
  );

  test.each(taking)('%s gives null for null', (name, columns) => {
    expect(valueOf(`${name}(s)`, { s: null }, columns)).toBeNull();
  });

  test.each(taking)('%s gives null for a column that the row lacks', (name, columns) => {
    expect(valueOf(`${name}(s)`, {}, columns)).toBeNull();
  });

  test.each(taking)('%s refuses what is of another type', (name, columns) => {
    expect(faultOf(`${name}(s)`, { s: name === 'flag' ? 1n : true }, columns)).toBe('the function does not take a value of this type');
  });

  test('are the documented ones', () => {
    expect(Object.keys(functions)).toEqual([
      'zip_city',
      'zip_state',
      'zip_prefix',
      'area_code',
      'num',
      'flag',
      'date',
      'epoch',
      'month',
      'now',
      'run_date',
      'days_before',
      'blank',
      'lower',
      'upper',
      'trim',
    ]);
  });
});

describe('a call of a function of ours on one field', () => {
  const values: readonly Value[] = [
    '10001',
    '10001-1234',
    ' k1a 0b1 ',
    'k1a',
    '212 555 0142',
    '20240229',
    '',
    ' ',
    'x',
    41,
    41n,
    true,
    new Date(0),
    null,
  ];

  /** What an expression gives for a value, or the fault. */
  function outcome(source: string, s: Value): Value {
    try {
      return valueOf(source, { s }, texts('s'));
    } catch (error) {
      return String(error);
    }
  }

  const ofText = Object.keys(functions).filter((name) => ['dyn', 'string'].includes(functions[name]?.takes[0] ?? ''));

  test.each(ofText)('gives what the interpreter gives: %s', (name) => {
    for (const value of values) expect([value, outcome(`${name}(s)`, value)]).toEqual([value, outcome(`${name}([s][0])`, value)]);
  });
});

describe('the clock', () => {
  test.each([
    ['now()', 'timestamp', '2026-11-22T10:30:00.000Z'],
    ['run_date()', 'date', '2026-11-22T00:00:00.000Z'],
    ['days_before(0)', 'date', '2026-11-22T00:00:00.000Z'],
    ['days_before(7)', 'date', '2026-11-15T00:00:00.000Z'],
    ['days_before(-1)', 'date', '2026-11-23T00:00:00.000Z'],
    ['days_before(1000)', 'date', '2024-02-26T00:00:00.000Z'],
    ["now() - duration('90m')", 'timestamp', '2026-11-22T09:00:00.000Z'],
  ])('is the first start of the run: %s is a %s', (source, type, instant) => {
    expect(compiled(source)).toMatchObject({ type, names: [] });
    expect(valueOf(source)).toEqual(new Date(instant));
  });

  test('takes its days from a field, too', () => {
    expect(valueOf('days_before(s)', { s: 2n }, castTo({ s: 'integer' }))).toEqual(new Date('2026-11-20T00:00:00Z'));
    expect(faultOf('days_before(s)', { s: 2n ** 62n }, castTo({ s: 'integer' }))).toBe('days_before() is outside the range of dates');
  });

  test.each([
    ['days_before(7.5)', 'days_before() takes a whole number: days_before(7)'],
    ["s > days_before('7')", 'days_before() takes a whole number: days_before(7)'],
    ['days_before()', 'days_before() takes a whole number: days_before(7)'],
    ['days_before(s)', 'days_before() takes a whole number: days_before(7)'],
    ['now(1)', 'now() is called as now()'],
    ['run_date(s)', 'run_date() is called as run_date()'],
    ['num(s, s)', "num() takes text, a whole number, or a decimal: num('…')"],
  ])('tells how a function is called: %s', (source, message) => {
    expect(problemOf(source).message).toBe(message);
  });

  test.each([
    ['now', "'now' is a function, not a field; it is called as now()"],
    ['days_before', "'days_before' is a function, not a field; it takes a whole number: days_before(7)"],
  ])('is called, and not named: %s', (name, message) => {
    expect(problemOf(`s > ${name}`).message).toBe(message);
  });
});

describe('month()', () => {
  test.each([
    ['2024-02-29T23:59:59Z', '2024-02'],
    ['0999-01-01T00:00:00Z', '0999-01'],
    ['+012345-12-31T00:00:00Z', '+012345-12'],
  ])('gives the month of %s in UTC as text', (instant, month) => {
    expect(compiled('month(s)', castTo({ s: 'timestamp' })).type).toBe('text');
    expect(valueOf('month(s)', { s: new Date(instant) }, castTo({ s: 'timestamp' }))).toBe(month);
    expect(valueOf('month(s)', { s: new Date(instant) }, castTo({ s: 'date' }))).toBe(month);
  });

  test('refuses a field that is no instant', () => {
    expect(problemOf('month(s)').message).toBe("month() takes an instant or a day: month(epoch('1709251200'))");
  });
});

describe('a field that is text and declares to be an instant or a day', () => {
  const columns = columnsOf(collections.leads);
  const seconds = (text: string) => String(Date.parse(text) / 1000);
  const row = { timestamp: seconds('2026-11-15T00:00:00Z'), yearmonthday: '20261115', lead_status: 'sold' };

  test.each([
    ['timestamp >= days_before(7)', true],
    ['timestamp > days_before(7)', false],
    ['days_before(6) <= timestamp', false],
    ['timestamp == days_before(7) && timestamp != now()', true],
    ['yearmonthday >= days_before(7) && yearmonthday < run_date()', true],
    ["timestamp < date('20261116')", true],
    ["timestamp >= timestamp('2026-11-15T00:00:00Z')", true],
    ['epoch(timestamp) == yearmonthday', true],
    ["now() - timestamp > duration('168h')", true],
    ["(timestamp) >= (lead_status == 'sold' ? days_before(7) : now())", true],
    ['[1].exists(x, timestamp > days_before(8))', true],
    ["month(timestamp) == '2026-11' && month(yearmonthday) == month(days_before(7))", true],
    ["timestamp == '" + seconds('2026-11-15T00:00:00Z') + "'", true],
  ])('is read as such beside an instant: %s', (source, expected) => {
    expect(valueOf(source, row, columns)).toBe(expected);
    expect(compiled(source, columns).doubts).toEqual([]);
  });

  test('is null where it is empty, and an error of the row where it cannot be read', () => {
    expect(valueOf('timestamp >= days_before(7)', { ...row, timestamp: '' }, columns)).toBeNull();
    expect(faultOf('timestamp >= days_before(7)', { ...row, timestamp: 'soon' }, columns)).toBe('epoch() cannot read the text');
  });

  test('is an instant already where it is cast', () => {
    const cast = columns.map((column) => ({ ...column, cast: true }));
    expect(valueOf('timestamp >= days_before(7)', { timestamp: new Date('2026-11-20T00:00:00Z') }, cast)).toBe(true);
  });

  test('leaves any other field what it is', () => {
    expect(problemOf('lead_status >= days_before(7)', columns).message).toContain('lead_status is text here');
    expect(problemOf('age >= days_before(7)', columns).message).toContain('age is text here');
  });
});

describe('expressions over a batch', () => {
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
      Array.from(outcomesIn(batch).values(), ({ vector, unfit }) =>
        vector.toArray().map((value, row) => ({ value, reason: unfit?.(row) })),
      ),
    );
  }

  test('give what they give for its rows, also for texts that come again', () => {
    const sources = [
      'num(s)',
      'int(s)',
      'num(t)',
      's == t',
      't == s',
      't == null',
      "[u, s].exists(x, x == 'x')",
      '1 + 1',
      'num(v)',
      'upper(s)',
    ];
    const expressions = sources.map((source) => compiled(source, texts('s', 't', 'u', 'v')));
    const [expected] = outcomes(expressions, batchFromRows(rows));
    expect(expected?.flat()).toContainEqual({ value: null, reason: expect.any(String) });
    expect(outcomes(expressions, batchOfTexts(rows), batchOfTexts(rows))).toEqual([expected, expected]);
  });

  test('are evaluated once for a text of a single column', () => {
    const asked: Row[] = [];
    const counting: Expression = {
      type: 'text',
      names: ['s', 'x'],
      doubts: [],
      evaluate: (row) => {
        asked.push(row);
        return null;
      },
      prepare: () => {},
    };
    outcomes([counting], batchOfTexts(rows), batchOfTexts(rows));
    expect(asked).toEqual([{ s: '41' }, { s: 'x' }, { s: '' }]);
  });

  test('get rows of the fields that they name', () => {
    const asked: Row[] = [];
    const counting: Expression = {
      type: 'text',
      names: ['t', 's', 'x'],
      doubts: [],
      evaluate: (row) => asked.push(row),
      prepare: () => {},
    };
    outcomes([counting], batchOfTexts(rows));
    expect(asked).toEqual(rows.map(({ s, t }) => ({ s, t })));
  });
});

describe('area_code', () => {
  test.each([
    ['2125550142', '212'],
    ['12125550142', '212'],
    ['+1 (212) 555-0142', '212'],
    ['212.555.0142', '212'],
    ['0125550142', null],
    ['1125550142', null],
    ['212555014', null],
    ['22125550142', null],
    ['212-555-0142 x9', null],
    ['', null],
  ])('of %j is %j', (phone, code) => {
    expect(valueOf('area_code(s)', { s: phone })).toBe(code);
  });
});

describe('num', () => {
  test.each<[Value, Value]>([
    ['41', 41],
    ['-1.5', -1.5],
    ['', null],
    [41n, 41],
    [1.5, 1.5],
  ])('of %p is %p', (value, number) => {
    expect(valueOf('num(s)', { s: value })).toBe(number);
  });

  test.each(['forty', '1,5', ' 1', 'NaN', '0x10'])('cannot read %j', (text) => {
    expect(faultOf('num(s)', { s: text })).toBe('num() cannot read the text');
  });
});

describe('a conversion of CEL', () => {
  const malformed = ['', ' ', '\t', ' 12 ', '12 ', '0x10', '0b1', '0o7', '1_000', '12abc', '1,5', '+', '-', '--1', '٣', 'x'];
  const instants = [
    '2024-02-30T00:00:00Z',
    '2024-02-29 12:00:00Z',
    'Thu Feb 29 2024 12:00 GMT',
    '2024-02-29T12:00:00',
    '20240229',
    '1709208000',
  ];
  const refused: Readonly<Record<string, readonly string[]>> = {
    int: [...malformed, '1e3', '1.0', '1.', '.5'],
    uint: [...malformed, '1e3', '1.0', '-1', '+1'],
    double: [...malformed, '.', 'e3', '1e', '1e999', '1.5f', '0x1p3'],
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
    ['double(s)', '2.', 2],
    ['bool(s)', 'TRUE', true],
    ['timestamp(s)', '2024-02-29T12:00:00.5+02:00', new Date('2024-02-29T10:00:00.5Z')],
    ["duration(s) == duration('90m')", '1h30m', true],
    ["duration(s) == duration('-90s')", '-1.5m', true],
    ['int(num(s))', '12.7', 12n],
    ['int(double(s))', '1e3', 1000n],
    ['int(size(s))', 'abc', 3n],
  ])('%s reads %j', (source, s, value) => {
    expect(valueOf(source, { s })).toEqual(value);
  });

  test.each([
    "['a'].exists(x, int(s) < 18)",
    'cel.bind(n, int(s), n < 18)',
    '[int(s)][0] < 18',
    'blank(s) ? int(s) < 1 : true',
    '-int(s) < 1',
  ])('refuses it wherever it stands: %s', (source) => {
    expect(faultOf(source, { s: '' })).toBe('int() cannot read the text');
  });

  test('rejects the rows of an empty text, and neither keeps them nor writes 0', async () => {
    for (const [step, config] of [
      [steps.filter, 'int(age) < 18'],
      [steps.derive, { n: 'int(age)' }],
    ] as const) {
      const context = runtime();
      const rows = await rowsThrough(opened<never>(step as never, config as never, context), [{ age: '' }, { age: '17' }]);
      expect(rows).toHaveLength(1);
      expect(context.rejects.map(({ fault }) => fault.reason)).toEqual(['int() cannot read the text']);
    }
  });

  test.each([
    ['int(s)', '9223372036854775808', 'int conversion error'],
    ['uint(s) == 1u', '18446744073709551616', 'uint conversion error'],
  ])('%s refuses %j, which does not fit', (source, s, message) => {
    expect(faultOf(source, { s })).toBe(message);
  });

  test('has no other name by which it can be called', () => {
    expect(problemOf("exact_text('int', s)").message).toMatch(/exact_text/);
  });
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
    'num(s) * 2.0 > 18',
    "date(s) < date('20240101')",
    "epoch(s) + duration('1h')",
    "epoch('0') - epoch(s) < duration('1h')",
    "zip_state(s) > 'A'",
    "zip_state(s) + '!'",
    'num(s) > 18 && true',
    'true && num(s) > 18',
    'flag(s) && flag(t)',
    'flag(s) || false',
    'false || num(s) > 18 || num(t) > 18',
    't == null && num(s) > 18',
    '(num(s) > 18) < true',
    '!(num(s) > 18 && true)',
    'cel.bind(v, num(s) > 18, !v)',
    'cel.bind(v, num(s) + 1.0, v < 3)',
    '!([num(s) > 18][0])',
    "!({'a': num(s) > 18}.a)",
    '!(blank(t) ? num(s) > 18 : false)',
    '!(blank(t) ? num(s) > 18 : true && false)',
    '(blank(t) ? num(s) : 2.0) < 3.0',
    '(blank(t) ? num(s) * 1.0 : 2.0) < 3.0',
    '[num(s)][0] < 3.0',
    "{'a': num(s)}.a < 3.0",
    '[1.0, 2.0].map(x, x + num(s))[0] < 3.0',
    '(blank(t) ? -num(s) : 1.0) < 3.0',
    '(blank(t) ? !flag(s) : true) && true',
  ])('is what comes of null where it is compared by size, calculated with or decides: %s', (source) => {
    expect(valueOf(source, { s: '', t: null })).toBeNull();
  });

  test.each<[string, Value]>([
    ['num(s) > 18 && false', false],
    ['false && num(s) > 18', false],
    ['num(s) > 18 || true', true],
    ['blank(s) || num(s) > 18', true],
    ['!blank(s) && num(s) > 18', false],
    ['num(s) == 18', false],
    ['num(s) == null', true],
    ["(num(s) > 18) == null ? 'unknown' : 'known'", 'unknown'],
    ['num(t) > 18 && false', false],
    ['true || num(t) > 18', true],
    ['(num(s) > 18) == false', false],
    ['(num(s) > 18) != true', true],
    ['(num(s) > 18) in [true, false]', false],
    ['(num(s) + 1.0) == 1.0', false],
  ])('leaves the decision to the other side: %s is %j', (source, value) => {
    expect(valueOf(source, { s: '', t: 'forty' })).toBe(value);
  });

  test.each(['num(t) > 18 || num(s) > 18', 'num(s) > 18 || num(t) > 18', 'num(t) > 18 && num(s) > 18', 'num(s) > 18 && num(t) > 18'])(
    'hides no failure: %s',
    (source) => {
      expect(faultOf(source, { s: '', t: 'forty' })).toBe('num() cannot read the text');
    },
  );

  test.each(['string(num(s) > 18)', 'bool(num(s) > 18)', 'bool(!flag(s))', 'string(flag(s) && true)'])(
    'is not taken for a flag: %s',
    (source) => {
      expect(faultOf(source, { s: '' })).toMatch(/^found no matching overload for '\w+\(null\)'$/);
    },
  );

  test('is no condition of a choice, which would have to guess', () => {
    expect(faultOf("num(s) > 18 ? 'adult' : 'minor'", { s: '' })).toBe("Ternary condition must be bool, got 'null'");
  });

  test('of a cast column counts, too', () => {
    const columns = castTo({ whole: 'integer', at: 'timestamp', flag: 'flag', word: 'text' });
    for (const source of [
      'whole > 18',
      'whole % 2',
      'whole + 1 > 2',
      'at < epoch(word)',
      '!flag',
      'flag && flag',
      "word > 'a'",
      'whole > 1.5',
    ])
      expect([source, valueOf(source, {}, columns)]).toEqual([source, null]);
  });

  test('drops the row from a filter and is written by derive', async () => {
    const context = runtime();
    const rows = [{ age: '' }, { age: '17' }, { age: '19' }];
    expect(await rowsThrough(opened(steps.filter, 'num(age) > 18', context), rows)).toEqual([{ age: '19' }]);
    expect(await rowsThrough(opened(steps.derive, { half: 'num(age) / 2.0' }, context), rows)).toEqual([
      { age: '', half: null },
      { age: '17', half: 8.5 },
      { age: '19', half: 9.5 },
    ]);
    expect(context.rejects).toEqual([]);
  });
});

describe('date and epoch', () => {
  const noon = new Date('2024-02-29T12:00:00Z');

  test('read their texts', () => {
    expect(valueOf('date(s)', { s: '20240229' })).toEqual(new Date('2024-02-29T00:00:00Z'));
    expect(valueOf('epoch(s)', { s: '1709208000' })).toEqual(noon);
  });

  test('give null for an empty text', () => {
    expect([valueOf('date(s)', { s: '' }), valueOf('epoch(s)', { s: '' })]).toEqual([null, null]);
  });

  test('cannot read other texts', () => {
    expect(faultOf('date(s)', { s: '20240230' })).toBe('date() cannot read the text');
    expect(faultOf('epoch(s)', { s: '2024-02-29' })).toBe('epoch() cannot read the text');
  });

  test('take an instant: epoch as it is, date as its day', () => {
    expect(valueOf('epoch(s)', { s: noon })).toEqual(noon);
    expect(valueOf('date(s)', { s: noon })).toEqual(new Date('2024-02-29T00:00:00Z'));
  });

  test('leave the instant of the row alone', () => {
    const row = { s: new Date('2024-02-29T12:00:00Z') };
    valueOf('date(s)', row);
    expect(row.s).toEqual(noon);
  });
});

describe('blank', () => {
  test.each<[Value, boolean]>([
    [null, true],
    ['', true],
    [' \t\n', true],
    ['x', false],
    ['0', false],
    [false, false],
    [0n, false],
  ])('of %p is %p', (value, expected) => {
    expect(valueOf('blank(s)', { s: value })).toBe(expected);
  });

  test('of a column that the row lacks is true', () => {
    expect(valueOf('blank(s)', {}, texts('s'))).toBe(true);
  });
});

describe('an expression that could take for ever', () => {
  const list = (values: number) => `[${Array.from({ length: values }, (_, value) => value).join()}]`;
  const nested = 'a comprehension (all, exists, exists_one, filter, map) is refused within another, because it can take forever';

  test.each([
    "['a'].exists(x, ['b'].exists(y, x == y))",
    "['a'].all(x, ['b'].map(y, y)[0] == x)",
    "['a'].filter(x, true).exists(x, x == 'a')",
    "s.split(',').map(x, x + x).map(x, x + x)[0]",
    "['a'].exists(x, cel.bind(y, x, ['b'].exists(z, z == y)))",
    "[['a'].exists(x, true)].exists(x, x)",
    "['a'].exists_one(x, ['b'].filter(y, y == x).size() == 1)",
    "{'a': 1}.exists(x, {'b': 2}.exists(y, x == y))",
  ])('is refused for a comprehension within another: %s', (source) => {
    expect(problemOf(source).message).toBe(nested);
  });

  test('is refused for a bind within another, which doubles what it binds', () => {
    const source = Array.from({ length: 40 }, (_, depth) => depth).reduceRight(
      (body, depth) => `cel.bind(v${depth + 1}, v${depth} + v${depth}, ${body})`,
      'v40.size() > 0',
    );
    expect(problemOf(source.replace('v0 + v0', '[s]')).message).toBe('cel.bind is refused within another, because it can take forever');
  });

  test.each([
    ["['a'].exists(x, x == s) || ['b'].all(x, x != s)", true],
    ["cel.bind(x, upper(s), ['A', 'B'].exists(y, y == x))", true],
    ["s.split(',').map(x, x != '', upper(x)).size() == 1", true],
  ])('is none that has them side by side, or one in a bind: %s', (source, value) => {
    expect(valueOf(source, { s: 'a' })).toBe(value);
  });

  test('may have 100 values in a list, and entries in a map', () => {
    expect(valueOf(`7 in ${list(100)}`)).toBe(true);
    expect(problemOf(`7 in ${list(101)}`).message).toBe(
      'a list holds at most 100 values; split a longer one: field in [...] || field in [...]',
    );
    const map = (entries: number) => `{${Array.from({ length: entries }, (_, entry) => `'${entry}': 1`).join()}}`;
    expect(valueOf(`'7' in ${map(100)}`)).toBe(true);
    expect(problemOf(`'7' in ${map(101)}`).message).toBe('a map holds at most 100 entries');
  });

  test.each([
    ['a sum', Array.from({ length: 6_000 }, () => '1').join(' + ')],
    ['lists side by side', `[0].exists(x, x in ${Array.from({ length: 60 }, () => list(99)).join(' + ')})`],
  ])('is refused when it has more than 5,000 parts: %s', (_name, source) => {
    expect(problemOf(source).message).toBe('an expression has at most 5,000 parts (names, values, operators)');
  });

  test('is refused with a comprehension when it has more than 1,000 parts', () => {
    const sum = (lists: number) => Array.from({ length: lists }, () => list(99)).join(' + ');
    expect(valueOf(`(${sum(4)}).all(x, x in ${sum(4)})`)).toBe(true);
    expect(problemOf(`(${sum(6)}).all(x, x in ${sum(6)})`).message).toBe('an expression with a comprehension has at most 1,000 parts');
  });

  test.each([
    ['brackets', `${'('.repeat(300)}s${')'.repeat(300)}`],
    ['negations', `${'!'.repeat(60_000)}true`],
  ])('is refused when it is too deep: %s', (_name, source) => {
    expect(problemOf(source).message).toBe('an expression is at most 250 levels deep');
  });

  test.each([
    ['a sum', Array.from({ length: 2_400 }, () => '1').join(' + '), 2_400n],
    ['alternatives', Array.from({ length: 1_200 }, (_, value) => `s == '${value}'`).join(' || '), false],
    ['lists side by side', Array.from({ length: 45 }, () => `num(s) in ${list(99).replaceAll(/\d+/g, '$&.0')}`).join(' || '), false],
    ['negations', `${'!'.repeat(240)}true`, true],
  ])('is carried out when it is but long: %s', (_name, source, value) => {
    expect(valueOf(source, { s: '-1' })).toBe(value);
  });
});

describe('the type of an expression', () => {
  const columns = [
    ...texts('s'),
    ...castTo({ flag: 'flag', whole: 'integer', share: 'decimal', at: 'timestamp', day: 'date', word: 'text' }),
  ];

  test.each([
    ["'x'", 'text'],
    ['s', 'text'],
    ["s + '!'", 'text'],
    ['lower(s)', 'text'],
    ["s == 'x' ? s : word", 'text'],
    ['null', 'text'],
    ['whole', 'integer'],
    ['whole + 1', 'integer'],
    ['size(s)', 'integer'],
    ['int(s)', 'integer'],
    ['share', 'decimal'],
    ['share * 2.0', 'decimal'],
    ['num(s)', 'decimal'],
    ['num(s) / 2.0', 'decimal'],
    ['double(s)', 'decimal'],
    ['flag', 'flag'],
    ['!flag', 'flag'],
    ["s == 'x'", 'flag'],
    ['whole > 3', 'flag'],
    ['blank(s)', 'flag'],
    ["s in ['a', 'b']", 'flag'],
    ['at', 'timestamp'],
    ['epoch(s)', 'timestamp'],
    ["at + duration('1h')", 'timestamp'],
    ['date(s)', 'date'],
    ['date(at)', 'date'],
  ])('%s is %s', (source, type) => {
    expect(compiled(source, columns).type).toBe(type);
  });

  test.each(['[s]', "{'a': s}", "b'x'", "duration('1h')", '3u', 'type(s)'])('%s fits no column', (source) => {
    expect(problemOf(source).message).toMatch(/^returns a .+, which no column can hold$/);
  });

  test.each<[string, Value, Value]>([
    ['[s][0]', true, 'true'],
    ['[s][0]', 2n ** 62n, '4611686018427387904'],
    ['[s][0]', new Date(0), '1970-01-01T00:00:00.000Z'],
  ])('%s of an open type takes %p as its text', (source, value, text) => {
    expect(valueOf(source, { s: value })).toBe(text);
  });

  test('refuses a whole number beyond 64 bits', () => {
    expect(faultOf('int(num(s))', { s: '1e300' })).toBe('the result does not fit the type of its column');
  });

  test('refuses an instant beyond the range of dates', () => {
    const columns = castTo({ s: 'timestamp' });
    expect(faultOf("s + duration('9000000000000s')", { s: new Date(8.64e15) }, columns)).toMatch(/./);
    expect(faultOf("[s][0] + duration('9000000000000s')", { s: new Date(8.64e15) }, columns)).toMatch(/./);
  });
});

describe('a column that the row lacks', () => {
  test('counts as null', () => {
    expect(valueOf('s == null', {}, texts('s'))).toBe(true);
    expect(valueOf('s', {}, texts('s'))).toBeNull();
  });

  test('counts as null inside macros too', () => {
    expect(valueOf("['a', 'b'].exists(x, x == s)", {}, texts('s'))).toBe(false);
  });
});

describe('an unknown name', () => {
  test('is reported as a field, with the fields there are', () => {
    expect(problemOf('lower(zipcod)').unknown).toEqual({ kind: 'field', name: 'zipcod', known: ['s', 'zipcode'] });
  });

  test('is reported as a function, with the functions there are', () => {
    const { unknown } = problemOf('zip_stat(zipcode)');
    expect(unknown).toMatchObject({ kind: 'function', name: 'zip_stat' });
    expect(unknown?.known).toEqual(expect.arrayContaining([...Object.keys(functions), 'size', 'int', 'timestamp']));
  });

  test.each([
    ['zip_stat(zipcode)', "unknown function 'zip_stat', did you mean 'zip_state'?"],
    ['siez(zipcode)', "unknown function 'siez', did you mean 'size'?"],
    ['lower(zipcod)', "unknown field 'zipcod', did you mean 'zipcode'?"],
    ['process', "unknown field 'process'"],
    ['constructor', "unknown field 'constructor'"],
  ])('in %s gives the nearest right one, if any', (source, message) => {
    expect(planned(steps.derive, { x: source }).problems).toEqual([{ path: ['x'], message }]);
  });

  test.each(['size(3)', 'int(true)', 'size()'])('is not what is wrong with %s', (source) => {
    expect(problemOf(source).unknown).toBeUndefined();
    expect(problemOf(source).message).toMatch(/^found no matching overload for/);
  });
});

describe('a syntax error', () => {
  test.each(['s +', 's ==', "'open", 's s', '(s', 's = 1', 's ? 1', ''])('in %j is a problem of one line', (source) => {
    expect(problemOf(source).message).toMatch(/^.+$/);
  });
});

describe('matches()', () => {
  test.each([
    "s.matches('(a+)+$')",
    "'x'.matches(s)",
    "!s.matches('a')",
    "blank(s) || s.matches('a')",
    "s.matches('a') ? 1 : 2",
    "['a'].exists(x, s.matches(x))",
    "{'a': s.matches('a')}['a']",
    "[1, 2][s.matches('a') ? 0 : 1]",
    "lower(s.matches('a') ? 'a' : 'b')",
    "cel.bind(m, s.matches('a'), m)",
  ])('is refused in %s', (source) => {
    expect(problemOf(source).message).toMatch(/^matches\(\) is refused/);
  });

  test('is refused as a function too', () => {
    expect(problemOf("matches(s, 'a')").message).toMatch(/matches/);
  });

  test('is a word like any other inside a text', () => {
    expect(valueOf("'matches(' + s", { s: 'x' })).toBe('matches(x');
  });
});

describe('a column whose name CEL keeps for itself', () => {
  const words = 'as break const continue else false for function if import in let loop namespace null package return true var void while';
  const types = 'bool bytes cel double google int list map optional string type uint';

  test.each(`${words} ${types} dyn timestamp duration size has date num zip_city 2nd`.split(' '))(
    'like %s does not stop the others',
    (name) => {
      const columns = texts(name, 's');
      expect(compiled("s == 'x'", columns).evaluate({ [name]: '1', s: 'x' })).toBe(true);
    },
  );

  test.each(['timestamp', 'size', 'date', 'num'])('can be used where it is only the name of a function: %s', (name) => {
    expect(valueOf(`${name} + '!'`, { [name]: 'x' })).toBe('x!');
  });

  test('can come from a rename', async () => {
    const { columns } = planned(steps.rename, { lead_type: 'type', source: 'map' });
    const [row] = await rowsThrough(opened(steps.derive, { x: 'upper(uid)' }, runtime({ input: columns })), [
      { type: 'a', map: 'b', uid: 'c' },
    ]);
    expect(row).toMatchObject({ type: 'a', map: 'b', x: 'C' });
  });
});

describe('an expression that is right for no row', () => {
  const columns = [
    ...columnsOf(collections.leads),
    ...castTo({ word: 'text', whole: 'integer', share: 'decimal', flag: 'flag', at: 'timestamp', day: 'date' }),
  ];

  test.each([
    ['age > 18', 'age is text here; use num(age), or cast first'],
    ['18 < age', 'age is text here; use num(age), or cast first'],
    ['age == 18', 'age is text here; use num(age), or cast first'],
    ['age in [18, 19]', 'age is text here; use num(age), or cast first'],
    ['-age', 'age is text here; use num(age), or cast first'],
    ['age - lead_id', 'lead_id and age are text here; use num(lead_id) and num(age), or cast first'],
    ['age * timestamp', 'age and timestamp are text here, and num(age) * epoch(timestamp) is refused too'],
    ['zipcode ? 1 : 2', "zipcode is text here; use a comparison like zipcode == '…', or cast first"],
    ['word ? 1 : 2', "word is text here; use a comparison like word == '…'"],
    ['is_valid && flag', 'is_valid is text here; use flag(is_valid), or cast first'],
    ['is_valid == true', 'is_valid is text here; use flag(is_valid), or cast first'],
    ['!is_valid', 'is_valid is text here; use flag(is_valid), or cast first'],
    ['is_valid || lead_accepted', 'lead_accepted and is_valid are text here; use flag(lead_accepted) and flag(is_valid), or cast first'],
    ['is_valid && zipcode', "is_valid and zipcode are text here; use flag(is_valid) and a comparison like zipcode == '…', or cast first"],
    ['word > 18', 'word is text here; use num(word)'],
  ])('is refused, with the fields at fault: %s', (source, message) => {
    expect(problemOf(source, columns)).toEqual({ message });
  });

  test.each([
    ['num(age) / 2', 'no such overload: double / int', ' (a decimal needs 2.0, not 2)'],
    ['num(age) % 2', 'no such overload: double % int', ' (a decimal needs 2.0, not 2)'],
    ["whole == '18'", 'no such overload: int == string', ' (write a number without quotes)'],
    ["whole == 'x'", 'no such overload: int == string', ''],
    ["date(yearmonthday) == '20240229'", 'no such overload: google.protobuf.Timestamp == string', " (date('20240229') is an instant)"],
    ['size(whole)', "found no matching overload for 'size(int)'", ''],
    ['zipcode.prefix', "Cannot index type 'string'", ' (a field is text unless cast)'],
    ["zipcode.exists(x, x == '1')", "Expression of type 'string' cannot be range of a comprehension", ' (a field is text unless cast)'],
  ])('is refused, with the types at fault and what helps: %s', (source, reason, note) => {
    const { message } = problemOf(source, columns);
    expect(message).toContain(reason);
    expect(message.split(', for every row')[1]).toBe(note);
  });

  test.each([
    ['zipcode == 12345', "zipcode == '12345'"],
    ['zipcode != 02134', "zipcode != '02134'"],
    ['02134 == zipcode', "'02134' == zipcode"],
    ['zipcode in [12345, 02134]', "zipcode in ['12345', '02134']"],
    ['age + 1 > 2.0', 'num(age) + 1.0 > 2.0'],
    ['age % 2 == 0', 'num(age) % 2.0 == 0'],
    ['10 - age > 2.0', '10.0 - num(age) > 2.0'],
    ['is_valid == 1', 'flag(is_valid)'],
    ['1 == is_valid', 'flag(is_valid)'],
    ['is_valid != 0', 'flag(is_valid)'],
    ['is_valid > 0', 'flag(is_valid)'],
    ['is_valid in [1]', 'flag(is_valid)'],
    ['is_valid == 0', '!flag(is_valid)'],
    ['is_valid < 1', '!flag(is_valid)'],
    ["'sold' in lead_status", "lead_status.contains('sold')"],
    ['uid in lead_status', 'lead_status.contains(uid)'],
    ["'sold' in word", "word.contains('sold')"],
    ['timestamp > 2024-01-01', "epoch(timestamp) > date('20240101')"],
    ['2024-1-1 <= yearmonthday', "date('20240101') <= date(yearmonthday)"],
    ['at < 2024-01-01', "at < date('20240101')"],
    ['epoch(timestamp) > 2024-01-01', "epoch(timestamp) > date('20240101')"],
    ['zipcode > 2024-01-01', "zipcode > '2024-01-01'"],
    ['timestamp > 1704067200', "epoch(timestamp) > epoch('1704067200')"],
    ['timestamp == 1704067200', "epoch(timestamp) == epoch('1704067200')"],
    ['yearmonthday >= 20240101', "date(yearmonthday) >= date('20240101')"],
    ['yearmonthday in [20240101, 20240102]', "date(yearmonthday) in [date('20240101'), date('20240102')]"],
    ['timestamp.getFullYear() == 2024', 'epoch(timestamp).getFullYear() == 2024'],
    ['len(email) > 1', 'size(email) > 1'],
    ['email.length() > 1', 'size(email) > 1'],
    ['email.length > 1', 'size(email) > 1'],
    ["email.toLowerCase() == 'x'", "lower(email) == 'x'"],
    ["toLower(email) == 'x'", "lower(email) == 'x'"],
    ['isnull(email)', 'blank(email)'],
  ])('is refused with what works instead: %s -> %s', (source, right) => {
    const { message } = problemOf(source, columns);
    const proposed = /; use (.+?)(?: by itself, without a number)?(?:, or cast first)?$/.exec(message)?.[1] ?? '';
    expect([message, right.startsWith(proposed)]).toEqual([message, proposed !== '']);
    expect(compiled(right, columns)).toMatchObject({ type: 'flag', doubts: [] });
  });

  test('proposes what gives no failure for empty texts', () => {
    const row = { age: '', zipcode: '', is_valid: '', timestamp: '', yearmonthday: '', email: '' };
    for (const source of [
      'num(age) > 18',
      'num(age) % 2.0 == 0',
      "zipcode == '02134'",
      '!flag(is_valid)',
      "epoch(timestamp) > date('20240101')",
    ])
      expect([source, [null, false]]).toEqual([source, expect.arrayContaining([valueOf(source, row, columns)])]);
    expect(valueOf('num(age) % 2.0 == 0', { age: '42' }, columns)).toBe(true);
  });

  test('tells a name in quotes', () => {
    expect(problemOf("'age' > 18", columns).message).toBe("'age' is text here; write a field's name without quotes: age");
  });

  test.each([
    ['timestamp < current_timestamp()', 'there is no current_timestamp(); use now(), when the run was first started'],
    ['timestamp < today()', 'there is no today(); use run_date(), the day on which the run was first started'],
    ['timestamp > days_ago(7)', 'there is no days_ago(); days_before(7) is the day a week before the run'],
    ['month(timestamp) == 11', "(month() returns text like '2026-11'; getMonth() + 1 is the number of a month)"],
    ['coalesce(email, uid)', 'there is no coalesce(); use (blank(email) ? uid : email)'],
    ['math.round(age)', 'there is no math.round(); int(num(age)) drops the decimals'],
  ])('tells what there is instead of a function of another language: %s', (source, message) => {
    expect(problemOf(source, columns).message).toContain(message);
  });

  test.each(['age == null || age > 18', 'blank(age) || age > 18', '(age == null ? 0 : 1) > 0 && age > 18'])(
    'is refused behind a guard against null too: %s',
    (source) => {
      expect(problemOf(source, columns).message).toBe('age is text here; use num(age), or cast first');
    },
  );

  test('is a problem of the file, at its place', () => {
    const message = 'expression: age is text here; use num(age), or cast first';
    expect(planned(steps.filter, 'age > 18').problems).toEqual([{ path: [], message }]);
    expect(planned(steps.derive, { adult: 'age > 18' }).problems).toEqual([{ path: ['adult'], message }]);
  });
});

describe('the text of a flag', () => {
  const columns = [...columnsOf(collections.leads), ...castTo({ sure: 'flag' })];
  const doubtsOf = (source: string) => compiled(source, columns).doubts.map(({ message }) => message);
  const doubt = (names: string, remedy: string) => [
    `${names} is a flag and arrives as yes, Yes, 1 and other words, so comparing its text finds only some of them; use ${remedy}, or cast first`,
  ];

  test.each(["is_valid == 'yes'", "'no' != is_valid", "is_valid in ['yes', 'Yes', '1']", "is_valid == 'Yes' || is_valid == 'yes'"])(
    'is doubted where it is compared: %s',
    (source) => {
      expect(doubtsOf(source)).toEqual(doubt('is_valid', 'flag(is_valid)'));
    },
  );

  test.each([
    "lower(is_valid) == 'yes'",
    "trim(lower(is_valid)) == 'yes'",
    "is_valid.lowerAscii() == 'yes'",
    "is_valid.startsWith('y')",
    "lower(is_valid).contains('es')",
    "(blank(is_valid) ? 'no' : is_valid) == 'no'",
    "is_valid + '' == 'yes'",
    "is_valid > 'a'",
    "zipcode == '1' ? 'a' : is_valid == 'yes' ? 'b' : 'c'",
    "['yes'].exists(x, x == is_valid)",
    "['yes', 'Yes'].all(x, lower(is_valid) != x)",
    "[is_valid, zipcode].exists(x, x == 'yes')",
    "'yes' in [is_valid]",
    "'yes' in [lower(is_valid)]",
    "cel.bind(v, lower(is_valid), v == 'yes')",
    "cel.bind(v, 'yes', v == is_valid)",
    "cel.bind(is_valid, is_valid, is_valid == 'yes')",
  ])('is doubted in disguise: %s', (source) => {
    expect(doubtsOf(source)).toEqual(doubt('is_valid', 'flag(is_valid)'));
  });

  test('is doubted where it is compared with that of another flag', () => {
    expect(doubtsOf('is_valid == lead_accepted')).toEqual([
      'lead_accepted and is_valid are flags and arrive as yes, Yes, 1 and other words, so comparing their text finds only some of them; use flag(lead_accepted) and flag(is_valid), or cast first',
    ]);
  });

  test.each([
    'flag(is_valid)',
    '!flag(is_valid)',
    'flag(is_valid) == true',
    "(flag(is_valid) ? 'a' : 'b') == 'a'",
    "is_valid == ''",
    'is_valid != null',
    "is_valid in ['', ' ']",
    'blank(is_valid)',
    "lead_status == 'yes'",
    "lead_status.startsWith('y') && flag(is_valid)",
    'sure',
    'size(is_valid) == 3',
    "(is_valid == '' ? 'none' : 'some') == 'none'",
    "['yes'].exists(x, x == zipcode)",
    '[1, 2].exists(x, x == size(is_valid))',
    "[''].exists(x, x == is_valid)",
  ])('is not doubted where it is read as a flag, or nothing is compared with a word: %s', (source) => {
    expect(doubtsOf(source)).toEqual([]);
  });

  test('is a warning of the file, at its place', () => {
    const [message = ''] = doubt('is_valid', 'flag(is_valid)');
    expect(planned(steps.filter, "is_valid == 'yes'")).toMatchObject({ problems: [], warnings: [{ path: [], message }] });
    expect(planned(steps.derive, { ok: "is_valid == 'yes'" })).toMatchObject({ problems: [], warnings: [{ path: ['ok'], message }] });
    const renamed = planned(steps.rename, { is_valid: 'ok' }).columns;
    expect(planned(steps.filter, "ok == 'yes'", renamed).warnings).toHaveLength(1);
    const joined = planned(steps.join, { with: 'bridges', on: { bridge_id: 'id' }, as: 'b', select: ['lexington'] }).columns;
    expect(planned(steps.filter, "b_lexington == 'yes'", joined).warnings).toHaveLength(1);
    expect(planned(steps.filter, 'flag(is_valid)').warnings).toEqual([]);
    expect(planned(steps.filter, 'is_valid', planned(steps.cast, {}).columns)).toMatchObject({ problems: [], warnings: [] });
  });
});

describe('the text of a number or an instant', () => {
  const columns = [...columnsOf(collections.leads), ...castTo({ whole: 'integer', at: 'timestamp' })];
  const doubt = (name: string, remedy: string) => [
    {
      code: 'W_SPEC_TEXT',
      message: `${name} is text here and is compared character by character ('9' is greater than '18'); use ${remedy}, or cast first`,
    },
  ];

  test.each([
    ["age > '2'", 'age', 'num(age) > 2'],
    ["'18' <= age", 'age', '18 <= num(age)'],
    ["age < '1.50'", 'age', 'num(age) < 1.5'],
    ["trim(age) < '18'", 'age', 'num(age)'],
    ["['18'].exists(x, age > x)", 'age', 'num(age)'],
    ["timestamp < '2024-01-01'", 'timestamp', "epoch(timestamp) < date('20240101')"],
    ["timestamp >= '20240101'", 'timestamp', "epoch(timestamp) >= date('20240101')"],
    ["timestamp > '1704067200'", 'timestamp', "epoch(timestamp) > epoch('1704067200')"],
    ["timestamp > '2024-01-01T00:00:00Z'", 'timestamp', "epoch(timestamp) > timestamp('2024-01-01T00:00:00Z')"],
    ["yearmonthday < '20240101'", 'yearmonthday', "date(yearmonthday) < date('20240101')"],
    ["yearmonthday < '2024-01-01'", 'yearmonthday', "date(yearmonthday) < date('20240101')"],
  ])('is doubted where it is compared by size: %s', (source, name, remedy) => {
    expect(compiled(source, columns).doubts).toEqual(doubt(name, remedy));
    const right = remedy.includes(' ') ? remedy : `${remedy} == null`;
    expect(compiled(right, columns)).toMatchObject({ type: 'flag', doubts: [] });
  });

  test.each([
    ["age < 'old'", /^age is text here .*, and old is not a number that num\(age\) can be compared with$/],
    [
      "timestamp > 'yesterday'",
      /^timestamp is text here .*, and yesterday is not a day or an instant; compare with a day as in epoch\(timestamp\) >= /,
    ],
  ])('is doubted where it is compared with what is none: %s', (source, message) => {
    expect(compiled(source, columns).doubts).toEqual([{ code: 'W_SPEC_TEXT', message: expect.stringMatching(message) }]);
  });

  test('is doubted where it is compared with another one', () => {
    expect(compiled('timestamp < yearmonthday', columns).doubts).toEqual([
      ...doubt('timestamp', 'epoch(timestamp)'),
      ...doubt('yearmonthday', 'date(yearmonthday)'),
    ]);
  });

  test.each([
    "age == '18'",
    "age in ['18', '19']",
    "age > ''",
    "zipcode > '5'",
    'num(age) > 2',
    "size(age) > 1 && lead_status > 'a'",
    "num(age) > 1 && zipcode < '5'",
    'whole > 1',
    "at > timestamp('2024-01-01T00:00:00Z')",
    "timestamp.startsWith('17')",
  ])('is not doubted elsewhere: %s', (source) => {
    expect(compiled(source, columns).doubts).toEqual([]);
  });
});

describe('a text with white space around it', () => {
  const columns = columnsOf(collections.leads);

  test.each([
    ["lead_status == 'sold '", 'sold ', 'lead_status'],
    ["' sold' != lower(lead_status)", ' sold', 'lead_status'],
    ["lead_status in ['open', 'sold\\t']", 'sold\\t', 'lead_status'],
  ])('is doubted where a field is compared with it: %s', (source, text, field) => {
    const message = `'${text}' has white space around it, so it is not equal to '${text.replace('\\t', '').trim()}'; compare ${field} with`;
    expect(compiled(source, columns).doubts).toEqual([{ code: 'W_SPEC_TEXT', message: expect.stringContaining(message) }]);
  });

  test.each(["lead_status == ' '", "lead_status.contains('sold ')", "lead_status + 'sold ' == email", "email == 'a b'"])(
    'is not doubted elsewhere: %s',
    (source) => {
      expect(compiled(source, columns).doubts).toEqual([]);
    },
  );
});

describe('an order beside null', () => {
  test.each(['num(age) > null', 'null <= lead_status', 'null < false'])('is doubted, since it is null in every row: %s', (source) => {
    const { doubts, evaluate } = compiled(source, columnsOf(collections.leads));
    expect(doubts).toEqual([{ code: 'W_SPEC_CONSTANT', message: expect.stringContaining(`${source} is null in every row`) }]);
    expect([{ age: '7', lead_status: 'sold' }, {}].map((row) => evaluate(row))).toEqual([null, null]);
  });

  test.each(['age == null', 'null != age', 'age > "" || age == null'])('is none: %s', (source) => {
    expect(compiled(source, columnsOf(collections.leads)).doubts).not.toContainEqual(expect.objectContaining({ code: 'W_SPEC_CONSTANT' }));
  });
});

describe('a comparison without a field', () => {
  const doubt = (said: string, meant: string) => [
    {
      code: 'W_SPEC_CONSTANT',
      message: `${said} compares constants and is the same for every row; write a field's name without quotes${meant}`,
    },
  ];

  test.each([
    [`"lead_status" != 'sold'`, ': lead_status'],
    [`'LEAD ACCEPTED' == 'yes'`, ': lead_accepted'],
    [`"lead_status" in ['sold', 'new']`, ': lead_status'],
    [`"email".endsWith('.ca')`, ': email'],
    ["'a' == 'b'", ''],
    ["'age' < '18'", ': age'],
  ])('is doubted: %s', (source, meant) => {
    expect(compiled(source, columnsOf(collections.leads)).doubts).toEqual(doubt(source, meant));
  });

  test('has no name of a field where it has no text', () => {
    expect(compiled('1 == 1').doubts.map(({ message }) => message)).toEqual(['1 == 1 compares constants and is the same for every row']);
  });

  test('is doubted within another condition', () => {
    expect(compiled(`blank(email) || "age" == '18'`, columnsOf(collections.leads)).doubts).toEqual(doubt(`"age" == '18'`, ': age'));
  });

  test.each([
    "zip_state('10001') == 'NY'",
    "lead_status == 'sold'",
    "lead_status in ['a']",
    "'a' in [lead_status]",
    'true',
    "'a,b'.split(',').exists(x, x == uid)",
  ])('is none: %s', (source) => {
    expect(compiled(source, columnsOf(collections.leads)).doubts).toEqual([]);
  });
});

describe('a constant that a function cannot read', () => {
  test.each([
    ["date('20241301')", 'date', 0],
    ["uid == '' || date('2024-01-01') > epoch(timestamp)", 'date', 13],
    ["epoch(timestamp) > epoch('2024-01-01')", 'epoch', 19],
    ["num('x') > 1.0", 'num', 0],
    ["flag('maybe')", 'flag', 0],
    ["int('') < 18", 'int', 0],
    ["epoch(timestamp) > timestamp('2024-01-01')", 'timestamp', 19],
    ["duration('1 day') > duration('1h')", 'duration', 0],
  ])('is told before any row: %s', (source, name, at) => {
    expect(problemOf(source, columnsOf(collections.leads))).toEqual({
      message: expect.stringMatching(new RegExp(`^${name}\\(\\) cannot read this text`)),
      at,
    });
  });

  test('is told with what the function wants', () => {
    expect(problemOf("date('2024-01-01')").message).toBe('date() cannot read this text, which must be a calendar day as YYYYMMDD');
  });

  test.each(["date('20240229') == null", "date('') == null", "num('') == null", "zip_city('x') == null", "int('1') == 1"])(
    'is not: %s',
    (source) => {
      expect(compiled(source, columnsOf(collections.leads)).type).toBe('flag');
    },
  );
});

describe('flag()', () => {
  test.each<[Value, Value]>([
    ...['yes', 'Yes', 'YES', 'y', 'true', 'True', '1'].map((word): [Value, Value] => [word, true]),
    ...['no', 'No', 'n', 'false', '0'].map((word): [Value, Value] => [word, false]),
    ['', null],
    [null, null],
    [true, true],
    [false, false],
  ])('reads %j as cast does: %j', (s, value) => {
    expect(valueOf('flag(s)', { s })).toBe(value);
  });

  test('guesses nothing', () => {
    expect(faultOf('flag(s)', { s: 'maybe' })).toBe('flag() cannot read the text');
    expect(faultOf('flag(s)', { s: ' yes' })).toBe('flag() cannot read the text');
  });

  test('gives a flag, which a condition can be', () => {
    expect(compiled('flag(s)').type).toBe('flag');
    expect(planned(steps.filter, 'flag(is_valid) && !flag(lead_accepted)').problems).toEqual([]);
  });
});

describe('an expression that is right for some rows', () => {
  const columns = [...texts('s', 't'), ...castTo({ whole: 'integer', share: 'decimal', flag: 'flag', at: 'timestamp' })];

  test.each<[string, Row, Value]>([
    ["s == null ? '' : s", { s: null }, ''],
    ["null == s || s == ''", { s: '' }, true],
    ['s != null', { s: 'x' }, true],
    ['whole == null || whole > 18', { whole: 19n }, true],
    ['share == null || flag == null || at == null', {}, true],
    ['num(s) == null', { s: '' }, true],
    ['s in [null]', {}, true],
    ['[s] == [null]', {}, true],
    ['s == null ? 0.0 : num(s)', { s: '1.5' }, 1.5],
    ['blank(s) ? null : num(s)', { s: '1.5' }, '1.5'],
    ['flag ? s : whole', { flag: false, whole: 4n }, '4'],
    ['whole == 18.0', { whole: 18n }, true],
    ['num(s) == 18', { s: '18' }, true],
    ['num(s) in [18, 19]', { s: '19' }, true],
    ['whole in [18.0]', { whole: 18n }, true],
    ['[whole] == [18.0]', { whole: 18n }, true],
    ["share in {1: 'a'}", { share: 1 }, true],
    ["['a', 'b'][num(s)]", { s: '1' }, 'b'],
    ['size([s] + [1])', { s: 'x' }, 2n],
    ['[s, whole][1] > 3', { whole: 4n }, true],
    ['dyn(s) == 18', { s: '18' }, false],
    ['num(s) > 18', { s: '19' }, true],
    ["s + t == 'xy'", { s: 'x', t: 'y' }, true],
    ['at < epoch(s)', { at: new Date(0), s: '1' }, true],
  ])('stays accepted: %s', (source, row, value) => {
    expect(valueOf(source, row, columns)).toEqual(value);
  });
});

describe('a fault', () => {
  const secret = 'Geheim-4711';

  test.each([
    'int(s)',
    'uint(s) == 1u',
    'double(s)',
    'bool(s)',
    'timestamp(s)',
    'timestamp(s).getFullYear() == 2024',
    "duration(s) == duration('1h')",
    "{'a': 1}[s]",
    '[1, 2][int(size(s))]',
    'dyn(s)[0] == 1',
    'dyn(s)[s] == 1',
    'dyn(s).field == 1',
    'dyn(s).getFullYear()',
    'dyn(s) + 1',
    'dyn(s) - dyn(s)',
    '-dyn(s)',
    '!dyn(s)',
    'dyn(s) < 3',
    'dyn(s) && true',
    'dyn(s) ? 1 : 2',
    'dyn(s) in dyn(s)',
    's.substring(1000)',
    'dyn(s).startsWith(3)',
    '1 / (size(s) - size(s))',
    '1 % (size(s) - size(s))',
    "epoch('0').getHours(s)",
    'bytes(s).json().a',
    'bytes(s).at(1000)',
    'num(s)',
    'date(s)',
    'epoch(s)',
    '[dyn(s)].map(x, x.y)[0]',
    'dyn(s).join(s)',
    '9223372036854775807 + size(s)',
  ])('of %s is of our kind and does not show the value', (source) => {
    const message = faultOf(source, { s: secret });
    expect(message).not.toBe('');
    for (const part of [secret, secret.slice(1), 'Geheim', '4711']) expect(message).not.toContain(part);
  });

  test.each([
    ['int(s)', 'int() cannot read the text'],
    ["{'a': 1}[s]", 'no such key'],
    ['1 / (size(s) - size(s))', 'division by zero'],
    ['dyn(s) + 1', 'no such overload: dyn<string> + int'],
    ['dyn(s).startsWith(3)', "found no matching overload for 'string.startsWith(int)'"],
    ["epoch('0').getHours(s)", 'the expression failed'],
  ])('of %s says what is wrong: %s', (source, message) => {
    expect(faultOf(source, { s: secret })).toBe(message);
  });
});

test('a row gives no way to what objects inherit', () => {
  for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
    expect(() => compiled(`dyn(s).${name}`).evaluate({ s: 'x' })).toThrow(ExpressionFault);
  }
});
