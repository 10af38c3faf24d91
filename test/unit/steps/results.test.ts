import { describe, expect, test } from '@jest/globals';
import { columnsOf, collections } from '../../../src/collections/index.js';
import { expressionsOver } from '../../../src/steps/expression/expression.js';

const expressions = expressionsOver(columnsOf(collections.leads));

function doubtsOf(source: string): readonly string[] {
  const result = expressions.compile(source);
  if (!('evaluate' in result)) throw new Error(result.message);
  return result.doubts.map(({ code, message }) => `${code}: ${message}`);
}

describe('a comparison with a text that the function never gives is doubtful', () => {
  test.each([
    ["month(timestamp) == '202301'", "month() returns text like 2026-11, never '202301'; write '2023-01'"],
    ["month(yearmonthday) == '2023/1'", "month() returns text like 2026-11, never '2023/1'; write '2023-01'"],
    ["'Jan' != month(timestamp)", "month() returns text like 2026-11, never 'Jan'"],
    ["month(timestamp) in ['2023-01', '2023-13']", "month() returns text like 2026-11, never '2023-13'"],
    ["zip_state(zipcode) == 'ny'", "zip_state() returns two capital letters, never 'ny'; write 'NY'"],
    ["area_code(home_phone) == '(212)'", "area_code() returns three digits, never '(212)'; write '212'"],
    ["lower(language) == 'English'", "lower() returns lower-case text, never 'English'; write 'english'"],
    ["upper(language) == 'English'", "upper() returns upper-case text, never 'English'; write 'ENGLISH'"],
    ["trim(language) == ' English'", "trim() returns text without white space around it, never ' English'; write 'English'"],
  ])('%s', (source, doubt) => {
    expect(doubtsOf(source)).toEqual([`W_SPEC_TEXT: ${doubt}`]);
  });
});

test.each([
  "month(timestamp) == '2023-01'",
  "month(timestamp) in ['2023-01', '2023-12']",
  "zip_state(zipcode) == 'NY'",
  "area_code(home_phone) == '212'",
  "lower(language) == 'english'",
  "lower(language) == ''",
  'lower(language) == upper(language)',
])('%s says what it means', (source) => {
  expect(doubtsOf(source)).toEqual([]);
});
