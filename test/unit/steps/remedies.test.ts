import { describe, expect, test } from '@jest/globals';
import { collections, columnsOf } from '../../../src/collections/index.js';
import type { Row } from '../../../src/core/index.js';
import { ExpressionFault } from '../../../src/steps/expression/fault.js';
import { expressionsOver } from '../../../src/steps/expression/expression.js';

const columns = columnsOf(collections.leads);
const expressions = expressionsOver(columns);

/** By number, so that what is kept of them can be told. */
const rows: readonly Row[] = [
  { lead_id: '9', age: '41', email: 'a@b.ca', timestamp: '1672531225', yearmonthday: '20230101', lead_status: 'sold', is_valid: 'Yes' },
  { lead_id: '50', age: '7', email: ' ', timestamp: '1672617625', yearmonthday: '20230102', lead_status: 'new', is_valid: 'no' },
  { lead_id: '18', age: '18', email: 'ab', timestamp: '1709208000', yearmonthday: '20240229', lead_status: 'unsold', is_valid: '1' },
  { lead_id: '2', age: '', email: '', timestamp: '', yearmonthday: '', lead_status: '', is_valid: '' },
];

/** What is said of an expression: why it is refused, or what is doubted. */
function saidOf(source: string): string {
  const result = expressions.compile(source);
  if (!('evaluate' in result)) return result.message;
  return result.doubts.map(({ message }) => message).join('\n');
}

/** Which rows a condition keeps; those for which it fails are rejected. */
function keptBy(source: string): readonly number[] {
  const result = expressions.compile(source);
  if (!('evaluate' in result)) throw new Error(`${source}: ${result.message}`);
  expect([source, result.type, result.doubts]).toEqual([source, 'flag', []]);
  return rows.flatMap((row, index) => {
    try {
      return result.evaluate(row) === true ? [index] : [];
    } catch (error) {
      if (error instanceof ExpressionFault) return [];
      throw error;
    }
  });
}

/** What is proposed: an expression that takes the place of the wrong one, or of a part of it. */
function proposedBy(message: string): string | undefined {
  const [, said] = /(?:; use |, as in |; (?=int\())(.*)$/.exec(message) ?? [];
  return said?.replace(/(?: by itself, without a number| drops the decimals.*|, which fails .*|, which counts .*|, or cast first)+$/, '');
}

/**
 * Holds what is said of a wrong expression to what it proposes: the right expression has it, is neither refused nor doubted, and keeps the
 * rows that were meant.
 */
function follow(wrong: string, right: string, kept: readonly number[]): void {
  const message = saidOf(wrong);
  const proposed = proposedBy(message);
  expect([message, proposed, right.includes(proposed ?? '?')]).toEqual([message, expect.any(String), true]);
  expect([right, keptBy(right)]).toEqual([right, kept]);
}

describe('what is proposed for a call of another language', () => {
  test.each<[string, string, readonly number[]]>([
    ['len(trim(email)) > 2', 'size(trim(email)) > 2', [0]],
    ["left(lead_status, 2) == 'un'", "lead_status.substring(0, 2) == 'un'", [2]],
    ["substr(lead_status, 3, 2) == 'so'", "lead_status.substring(2, 4) == 'so'", [2]],
    ["(email + 'x').length() > 3", "size(email + 'x') > 3", [0]],
    ["len(email + 'x') > 3", "size(email + 'x') > 3", [0]],
    ["trim(email).strip() == ''", "trim(trim(email)) == ''", [1, 3]],
    ["email.includes('@')", "email.contains('@')", [0]],
    ["(email + 'x').includes('x')", "(email + 'x').contains('x')", [0, 1, 2, 3]],
    ["coalesce(email, 'none') == 'none'", "(blank(email) ? 'none' : email) == 'none'", [1, 3]],
    ['ifnull(age, 0) < 18.0', '(blank(age) ? 0.0 : num(age)) < 18.0', [1, 3]],
    ['coalesce(timestamp, 0) > 1700000000', '(blank(timestamp) ? 0.0 : num(timestamp)) > 1700000000', [2]],
    ['round(num(age)) > 17', 'int(num(age)) > 17', [0, 2]],
    ['round(age) > 17', 'int(num(age)) > 17', [0, 2]],
    ['floor(num(age) / 2.0) > 8', 'int(num(age) / 2.0) > 8', [0, 2]],
    ['math.round(num(age)) > 17', 'int(num(age)) > 17', [0, 2]],
    ['isempty(trim(email))', 'blank(trim(email))', [1, 3]],
  ])('takes its operands as written: %s -> %s', follow);

  test.each<[string, string, readonly number[]]>([
    ['year(yearmonthday) == 2023', 'date(yearmonthday).getFullYear() == 2023', [0, 1]],
    ['year(timestamp) == 2023', 'epoch(timestamp).getFullYear() == 2023', [0, 1]],
    ['YEAR(epoch(timestamp)) == 2023', 'epoch(timestamp).getFullYear() == 2023', [0, 1]],
    ["year(epoch(timestamp) - duration('24h')) == 2022", "(epoch(timestamp) - duration('24h')).getFullYear() == 2022", [0]],
    ['MONTH(yearmonthday) == 1', '(date(yearmonthday).getMonth() + 1) == 1', [0, 1]],
    ['day(timestamp) == 2', 'epoch(timestamp).getDate() == 2', [1]],
  ])('reads an instant as its column declares: %s -> %s', follow);

  test.each([
    ['year(zipcode) == 2023', 'there is no year(); an instant has getFullYear()'],
    ['len(age > 3) > 1', 'there is no len(); use size()'],
    ['round(flag(is_valid)) > 1', 'there is no round(); int() drops the decimals of a number'],
    ['coalesce(email) == null', 'there is no coalesce(); use a condition: blank(…) ? value : other'],
    ['coalesce(flag(is_valid), 0) == 1', 'there is no coalesce(); use a condition: blank(…) ? value : other'],
  ])('is nothing that would be refused itself: %s', (wrong, message) => {
    expect(saidOf(wrong)).toBe(message);
  });
});

describe('what is proposed for a number beside an instant or a day', () => {
  test.each<[string, string, readonly number[]]>([
    ['yearmonthday == 2023', 'date(yearmonthday).getFullYear() == 2023', [0, 1]],
    ['yearmonthday in [2023, 2025]', 'date(yearmonthday).getFullYear() in [2023, 2025]', [0, 1]],
    ['2023 < yearmonthday', '2023 < date(yearmonthday).getFullYear()', [2]],
    ['timestamp < 2024', 'epoch(timestamp).getFullYear() < 2024', [0, 1]],
    ["timestamp < '2024'", 'epoch(timestamp).getFullYear() < 2024', [0, 1]],
    ["yearmonthday > '2023'", 'date(yearmonthday).getFullYear() > 2023', [2]],
    ['yearmonthday == 202301', "yearmonthday.startsWith('202301')", [0, 1]],
    ['yearmonthday > 20230101', "date(yearmonthday) > date('20230101')", [1, 2]],
    ['timestamp > 20230102', "epoch(timestamp) > date('20230102')", [1, 2]],
    ['timestamp >= 1672617625', "epoch(timestamp) >= epoch('1672617625')", [1, 2]],
    ['timestamp == 1672531225000', "epoch(timestamp) == epoch('1672531225')", [0]],
    ['1672531225500 < timestamp', "timestamp('2023-01-01T00:00:25.500Z') < epoch(timestamp)", [1, 2]],
    ['yearmonthday > 1672531200', "date(yearmonthday) > epoch('1672531200')", [1, 2]],
  ])('is the day, the year or the instant that is meant: %s -> %s', follow);

  const asked = (read: string) => `compare with a day as in ${read} >= date('20230101'), with a year as in ${read}.getFullYear() == 2023`;

  test.each([
    ['yearmonthday > 20230000', `yearmonthday is text here, and 20230000 is not a calendar day (YYYYMMDD); ${asked('date(yearmonthday)')}`],
    [
      'yearmonthday == 20231399',
      `yearmonthday is text here, and 20231399 is not a calendar day (YYYYMMDD); ${asked('date(yearmonthday)')}`,
    ],
    ['timestamp > 20231399', `timestamp is text here, and 20231399 is not a calendar day (YYYYMMDD); ${asked('epoch(timestamp)')}`],
    ['timestamp > 60', `timestamp is text here, and 60 is not a plausible number of seconds since 1970; ${asked('epoch(timestamp)')}`],
    [
      "yearmonthday > '20231399'",
      `yearmonthday is text here and is compared character by character ('9' is greater than '18'), and 20231399 is not a calendar day (YYYYMMDD); ${asked('date(yearmonthday)')}`,
    ],
  ])('is nothing for what is none: %s', (wrong, message) => {
    expect(saidOf(wrong)).toBe(message);
  });

  test.each([
    ['epoch(timestamp) > 1672531225', " (epoch('1672531225') is an instant)"],
    ['epoch(timestamp) > 2023', ' (getFullYear() is the year of an instant)'],
    ['epoch(timestamp) + 60 > date(yearmonthday)', " (duration('60s') is a span of time)"],
    ['epoch(timestamp) > 60', ''],
  ])('is noted beside what is read already: %s', (wrong, note) => {
    expect(saidOf(wrong).split(', for every row')[1]).toBe(note);
  });
});

describe('what is proposed for calculations with instants and days', () => {
  test.each<[string, string, readonly number[]]>([
    ['timestamp + 86400 > epoch(lead_id)', "epoch(timestamp) + duration('86400s') > date('20230103')", [1, 2]],
    ['timestamp - 86400 == epoch(lead_id)', "epoch(timestamp) - duration('86400s') == epoch('1672531225')", [1]],
    ['86400 + timestamp > epoch(lead_id)', "epoch(timestamp) + duration('86400s') > date('20230103')", [1, 2]],
    ['timestamp - 1672531225 > 60', "epoch(timestamp) - epoch('1672531225') > duration('24h')", [2]],
    ['timestamp * 1000 > 1672617625000', 'num(timestamp) * 1000.0 > 1672531225000', [1, 2]],
    ['timestamp / 86400 > 19360', 'num(timestamp) / 86400.0 > 19359', [1, 2]],
    ['yearmonthday - 1 == date(lead_id)', "date(yearmonthday) - duration('24h') == date('20230101')", [1]],
    ['yearmonthday - 20230101 > 1', "date(yearmonthday) - date('20230101') > duration('24h')", [2]],
  ])('is a time that is added, or the number: %s -> %s', follow);

  test.each(['yearmonthday / 100 == 202301', 'yearmonthday - 10000 > 1', '86400 - timestamp > 1', 'yearmonthday * 2 > 1'])(
    'is nothing where there is no such calculation: %s',
    (wrong) => {
      expect(saidOf(wrong)).toMatch(/ is text here, and there is no [-/*] for an instant and this number; add days and seconds as in /);
    },
  );

  test('is nothing for two texts that do not go together when they are read either', () => {
    expect(saidOf('age * timestamp > 1')).toBe('age and timestamp are text here, and num(age) * epoch(timestamp) is refused too');
  });
});

describe('what is proposed for a text in another form than that of its field', () => {
  test.each<[string, string, readonly number[]]>([
    ["yearmonthday == '2023-01-01'", "date(yearmonthday) == date('20230101')", [0]],
    ["yearmonthday != '2023-01-01'", "date(yearmonthday) != date('20230101')", [1, 2, 3]],
    ["'2023-01-01' == yearmonthday", "date('20230101') == date(yearmonthday)", [0]],
    ["yearmonthday in ['2023-01-01', '20230102']", "date(yearmonthday) in [date('20230101'), date('20230102')]", [0, 1]],
    ["yearmonthday == '2023'", 'date(yearmonthday).getFullYear() == 2023', [0, 1]],
    ["timestamp == '2023-01-01T00:00:25Z'", "epoch(timestamp) == timestamp('2023-01-01T00:00:25Z')", [0]],
    ["age == '18.0'", 'num(age) == 18', [2]],
    ["age in ['18.0', '7.']", 'num(age) in [18, 7]', [1, 2]],
    ["yearmonthday.startsWith('2023-01')", "yearmonthday.startsWith('202301')", [0, 1]],
    ["yearmonthday.startsWith('2023-')", "yearmonthday.startsWith('2023')", [0, 1]],
    ["timestamp.startsWith('2023')", 'epoch(timestamp).getFullYear() == 2023', [0, 1]],
    ["timestamp.startsWith('2023-')", 'epoch(timestamp).getFullYear() == 2023', [0, 1]],
    ["epoch(yearmonthday) > date('20230101')", "date(yearmonthday) > date('20230101')", [1, 2]],
    ["date(timestamp) == date('20230101')", "date(epoch(timestamp)) == date('20230101')", [0]],
    ['age > lead_id', 'num(age) > num(lead_id)', [0]],
    ['lead_id < age', 'num(lead_id) < num(age)', [0]],
  ])('is the value that is meant: %s -> %s', follow);

  test.each([
    ["yearmonthday.contains('-01-')", "yearmonthday is text here and arrives as a calendar day as YYYYMMDD, so no row has '-01-'"],
    ["age == 'old'", "age is text here and arrives as a 64-bit integer, so no row has 'old'"],
    [
      "trim(yearmonthday) == '2023-01-01'",
      "yearmonthday is text here and arrives as a calendar day as YYYYMMDD, so no row has '2023-01-01'",
    ],
    [
      "yearmonthday in ['', '2023-01-01']",
      "yearmonthday is text here and arrives as a calendar day as YYYYMMDD, so no row has '2023-01-01'",
    ],
    ['flag(age) == true', 'age arrives as a 64-bit integer, which flag() does not read; num(age) reads it'],
    ['timestamp(timestamp) > now()', 'timestamp arrives as seconds since 1970, which timestamp() does not read; epoch(timestamp) reads it'],
    [
      'timestamp(yearmonthday) > now()',
      'yearmonthday arrives as a calendar day as YYYYMMDD, which timestamp() does not read; date(yearmonthday) reads it',
    ],
    ['bool(timestamp)', 'timestamp arrives as seconds since 1970, which bool() does not read; epoch(timestamp) reads it'],
    ['bool(yearmonthday)', 'yearmonthday arrives as a calendar day as YYYYMMDD, which bool() does not read; date(yearmonthday) reads it'],
    ['epoch(age) == null', 'age arrives as a 64-bit integer, which epoch() does not read; num(age) reads it'],
  ])('is nothing where that cannot be told: %s', (wrong, message) => {
    expect(saidOf(wrong)).toBe(message);
  });

  test.each([
    "yearmonthday == '20230101'",
    "yearmonthday in ['20230101', '']",
    "yearmonthday.startsWith('2023')",
    "timestamp.startsWith('17')",
    "timestamp == '1672531225'",
    "age.contains('4')",
    "age.startsWith('-')",
    "date(epoch(timestamp)) == date('20230101')",
    'num(timestamp) > 1672531225',
    'num(yearmonthday) > 20230101',
    "lead_status > 'a'",
    'lead_id < lead_status',
    'age == lead_id',
  ])('is nothing for what is right: %s', (source) => {
    expect(saidOf(source)).toBe('');
  });
});

/** The families of comparisons and calculations of every kind of column with literals of all kinds, in both orders. */
describe('whatever is proposed', () => {
  const fields = ['age', 'timestamp', 'yearmonthday', 'is_valid', 'lead_status', 'lead_id'];
  const literals = [
    ...['0', '1', '7', '31', '60', '100', '2023', '202301', '20230101', '20230000', '20231399', '86400', '1672531225', '1672531225000'],
    ...[
      '16725312251234',
      '1.5',
      '-1',
      '[1, 2]',
      '[2023]',
      '[20230101, 20230000]',
      "'x'",
      "'2023'",
      "'2023-01-01'",
      "'20230101'",
      "'1672531225'",
    ],
    ...["['2023-01-01']", "'2023-01-01T00:00:00Z'", "''", 'true', 'null', 'lead_id', 'age', 'timestamp', 'yearmonthday', '2023-01-01'],
    ...["date('20230101')", "epoch('0')", 'num(age)', 'flag(is_valid)', "duration('1h')"],
  ];
  const operators = ['==', '!=', '<', '<=', '>', '>=', 'in', '+', '-', '*', '/', '%'];
  const calls = ['startsWith', 'contains'];
  const wrong = fields.flatMap((field) =>
    literals
      .filter((literal) => literal !== field)
      .flatMap((literal) => [
        ...operators.flatMap((op) => [`${field} ${op} ${literal}`, `${literal} ${op} ${field}`]),
        ...calls.map((call) => `${field}.${call}(${literal})`),
        ...(field === 'age' ? ['flag'] : ['date', 'epoch', 'flag']).map((read) => `${read}(${field}) == ${literal}`),
      ]),
  );

  test('is refused by nobody and doubted by nobody', () => {
    const bad = wrong.flatMap((source) => {
      const first = followed(source);
      if (first === undefined) return [];
      // What is wrong twice is told one after the other.
      const right = followed(first) ?? first;
      // A time between two instants is no value of a column, but of a part of an expression.
      const said = saidOf(right).replace(/^returns a \w+, which no column can hold$/, '');
      return said === '' ? [] : [`${source} -> ${right}: ${said}`];
    });
    expect(bad).toEqual([]);
  });

  /** The source with what is proposed; `undefined` when nothing is. */
  function followed(source: string): string | undefined {
    const proposals = saidOf(source)
      .split('\n')
      .flatMap((line) => proposedBy(line) ?? []);
    const [first] = proposals;
    if (first === undefined) return undefined;
    // One for each field where there are several: they are followed together.
    return proposals.length === 1 && isWhole(first) ? first : replaced(source, proposals);
  }

  /** Whether a proposal takes the place of the whole. */
  function isWhole(proposal: string): boolean {
    return / (?:[=!<>]=|[-+*/%<>]|in) |^!|\.(?:startsWith|contains)\(|^(?:!?flag)\(/.test(proposal);
  }

  /** The source with readers in place of the fields. */
  function replaced(source: string, proposals: readonly string[]): string {
    return proposals
      .flatMap((proposal) => proposal.split(' and '))
      .reduce((text, read) => {
        const [, field = ''] = /\((\w+)\)+$/.exec(read) ?? [];
        return text.replace(new RegExp(`(?:\\b(?:date|epoch|flag)\\(${field}\\)|(?<!\\()\\b${field}\\b)`), read);
      }, source);
  }
});
