import { describe, expect, test } from '@jest/globals';
import { collections, columnsOf, type Row } from '../../../src/collections/index.js';
import { ExpressionFault, expressionsOver } from '../../../src/steps/expression/index.js';

const columns = columnsOf(collections.leads);

/** By number, so that what is kept of them can be told. */
const rows: readonly Row[] = [
  { lead_id: '9', age: '41', email: 'a@b.ca', timestamp: '1672531225', yearmonthday: '20230101', lead_status: 'sold', is_valid: 'Yes' },
  { lead_id: '50', age: '7', email: ' ', timestamp: '1672617625', yearmonthday: '20230102', lead_status: 'new', is_valid: 'no' },
  { lead_id: '18', age: '18', email: 'ab', timestamp: '1709208000', yearmonthday: '20240229', lead_status: 'unsold', is_valid: '1' },
  { lead_id: '2', age: '', email: '', timestamp: '', yearmonthday: '', lead_status: '', is_valid: '' },
];

/** What is said of an expression: why it is refused, or what is doubted. */
function saidOf(source: string): string {
  const result = expressionsOver(columns).compile(source);
  if (!('evaluate' in result)) return result.message;
  return result.doubts.map(({ message }) => message).join('\n');
}

/** Which rows a condition keeps; those for which it fails are rejected. */
function keptBy(source: string): readonly number[] {
  const result = expressionsOver(columns).compile(source);
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
  return said?.replace(/(?: by itself, without a number| leaves out .*|, which fails .*|, or cast before)+$/, '');
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
    ['month(yearmonthday) == 1', '(date(yearmonthday).getMonth() + 1) == 1', [0, 1]],
    ['day(timestamp) == 2', 'epoch(timestamp).getDate() == 2', [1]],
  ])('reads an instant as its column declares: %s -> %s', follow);

  test.each([
    ['year(zipcode) == 2023', 'there is no year(); an instant has getFullYear()'],
    ['len(age > 3) > 1', 'there is no len(); use size()'],
    ['round(flag(is_valid)) > 1', 'there is no round(); int() of a number leaves out what is behind the point'],
    ['coalesce(email) == null', 'there is no coalesce(); use a condition: blank(…) ? value : other'],
    ['coalesce(flag(is_valid), 0) == 1', 'there is no coalesce(); use a condition: blank(…) ? value : other'],
  ])('is nothing that would be refused itself: %s', (wrong, message) => {
    expect(saidOf(wrong)).toBe(message);
  });
});
