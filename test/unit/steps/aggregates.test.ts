import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { declaredTypes, type Column, type DeclaredType, type Row } from '../../../src/core/index.js';
import { batchFromRows } from '../../../src/vector/index.js';
import { pageOf } from '../../../src/flow/index.js';
import { aggregateNames, aggregateOf, callOf, isNumberType, type AggregateName } from '../../../src/steps/aggregate/functions.js';
import { steps } from '../../../src/steps/registry.js';
import { temporaryFolder } from '../../support/temporary.js';
import { castTo, planned, runtime, through } from './support.js';

/** Values of every type, with ties and without an order. */
const values: { readonly [T in DeclaredType]: readonly string[] } = {
  text: ['b', '', 'a', '😀', 'b', 'a', 'é', 'Ａ', ''],
  flag: ['yes', 'no', 'yes', '', 'no', 'no'],
  integer: ['9007199254740993', '-3', '', '9007199254740993', '10', '-3', '9', '0'],
  decimal: ['0.1', '1e16', '', '-1e16', '0.2', '-0.3', '0.1', '1e-9'],
  timestamp: ['1709164800', '0', '', '-86400', '1709164800'],
  date: ['20240229', '19691231', '', '20240301', '20240229'],
};

const rows: readonly Row[] = Array.from({ length: 300 }, (_, id) => ({
  group: `g${(id * 7919) % 13}`,
  ...Object.fromEntries(declaredTypes.map((type) => [type, values[type].at((id * 31) % values[type].length) ?? null])),
  none: null,
}));

const input: readonly Column[] = castTo({
  group: 'text',
  none: 'decimal',
  ...Object.fromEntries(declaredTypes.map((type) => [type, type])),
});

const callsOf = (name: AggregateName): readonly string[] => {
  const { takes } = aggregateOf(name);
  if (takes === 'rows') return [callOf(name), `${name}(flag)`];
  return declaredTypes.filter((type) => takes === 'values' || isNumberType(type)).map((type) => `${name}(${type})`);
};

describe.each(aggregateNames)('%s', (name) => {
  const compute = Object.fromEntries(callsOf(name).map((call, index) => [`result_${index}`, call]));
  const computed = async (by: readonly string[], calls: typeof compute, some: readonly Row[], size = 10) => {
    const scratch = join(await temporaryFolder(), 'scratch');
    const step = steps.aggregate.open({ by: [...by], compute: calls }, runtime({ input, scratch }));
    const pages = Array.from({ length: Math.ceil(some.length / size) }, (_, index) => some.slice(index * size, (index + 1) * size));
    const out = await through(
      step,
      pages.map((page, index) => pageOf(index + 1, batchFromRows(page), { release: () => {} })),
    );
    return out.flatMap((page) => page.rows);
  };

  test('computes the same whatever the pages of the rows', async () => {
    for (const by of [['group'], []]) {
      const expected = await computed(by, compute, rows, 10);
      expect(expected).toHaveLength(by.length === 0 ? 1 : 13);
      expect(await computed(by, compute, rows, 7)).toEqual(expected);
    }
  });

  test('gives 0 as a count and null as any other result where no value comes', async () => {
    const { takes, gives } = aggregateOf(name);
    const call = takes === 'rows' ? `${name}(none == 1.0)` : `${name}(none)`;
    expect(await computed([], { n: call }, rows)).toEqual([{ n: gives === 'count' ? 0n : null }]);
  });

  test('gives what it declares, and hides what it makes of personal values unless it counts them', async () => {
    const { columns } = planned(
      steps.aggregate,
      { compute },
      input.map((column) => ({ ...column, sensitivity: 'personal' as const })),
    );
    const [row = {}] = await computed([], compute, rows);
    const counts = aggregateOf(name).gives === 'count';
    for (const column of columns) {
      expect(column.sensitivity).toBe(counts ? 'plain' : 'personal');
      expect(typeNamesOf(row[column.name])).toContain(column.type);
    }
  });
});

function typeNamesOf(value: unknown): readonly DeclaredType[] {
  if (value instanceof Date) return ['timestamp', 'date'];
  if (typeof value === 'bigint') return ['integer'];
  if (typeof value === 'boolean') return ['flag'];
  return typeof value === 'number' ? ['decimal'] : ['text'];
}
