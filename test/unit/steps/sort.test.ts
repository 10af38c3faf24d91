import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { concat, lastValueFrom, take, throwError, toArray } from 'rxjs';
import type { Row, Value } from '../../../src/core/index.js';
import { sort, type SortKey } from '../../../src/steps/index.js';
import { batchOfTexts, dictionaryBatches } from '../../support/batches.js';
import { leasedPages } from '../../support/pages.js';
import { until } from '../../support/until.js';
import { temporaryFolder } from '../../support/temporary.js';
import { batchOf, pageOf, type Page } from '../../../src/flow/index.js';
import { batchFromRows, Utf8Vector } from '../../../src/vector/index.js';
import { otherSide, through, watched } from './support.js';

const numbers = fc.constantFrom<Value>('10', '9', '-1', '', null, '9007199254740993', '9007199254740992', 9n, 10n);
const words = fc.constantFrom<Value>('', 'a', 'B', 'é', '\uff21', '😀', 'ab', null);
const rows = fc
  .array(fc.record({ n: numbers, t: words, more: words }, { requiredKeys: ['n', 't'] }), { maxLength: 30 })
  .map((some) => some.map((row, id): Row => ({ ...row, id: String(id) })));
const key = fc.record({ field: fc.constantFrom('n', 't'), descending: fc.boolean() });
const keys = fc
  .uniqueArray(key, { selector: ({ field }) => field, minLength: 1 })
  .map((some) => some.map((each): SortKey => ({ ...each, type: each.field === 'n' ? 'integer' : 'text' })));

/** What a value is compared by; `undefined` comes last. */
function comparable(value: Value | undefined, type: SortKey['type']): bigint | Buffer | undefined {
  if (value === null || value === undefined) return undefined;
  if (type === 'integer') return value === '' ? undefined : BigInt(value as string | bigint);
  return Buffer.from(String(value));
}

/** The specification: a stable sort of row objects. */
function sorted(some: readonly Row[], by: readonly SortKey[]): readonly Row[] {
  return some.toSorted((one, other) => {
    for (const { field, type, descending } of by) {
      const [a, b] = [comparable(one[field], type), comparable(other[field], type)];
      if (a === undefined || b === undefined) {
        if (a === b) continue;
        return a === undefined ? 1 : -1;
      }
      const order = Buffer.isBuffer(a) && Buffer.isBuffer(b) ? Buffer.compare(a, b) : a < b ? -1 : a > b ? 1 : 0;
      if (order !== 0) return descending ? -order : order;
    }
    return 0;
  });
}

async function run(step: ReturnType<typeof sort>, pages: readonly Page[]): Promise<readonly Row[]> {
  return (await through(step, pages)).flatMap((page) => page.rows);
}

describe('sort', () => {
  test('gives rows in the order of their keys, equal ones as they came', async () => {
    const folder = join(await temporaryFolder(), 'scratch');
    await fc.assert(
      fc.asyncProperty(rows, keys, fc.constantFrom(batchFromRows, batchOfTexts, dictionaryBatches(false)), async (some, by, of) => {
        const pages = some.map((row, index) => pageOf(index + 1, of([row]), { release: () => {} }));
        const expected = sorted(some, by).map((row) => (some.some((each) => 'more' in each) ? { more: null, ...row } : row));
        expect(await run(sort(by, { folder }), pages)).toEqual(expected);
      }),
    );
  });

  test('leaves texts that no column of bytes may hold to be refused by what writes them', async () => {
    const texts = ['a\0b', '\0', 'plain', '', '\ud83d'];
    const step = sort([{ field: 'id' }], { folder: join(await temporaryFolder(), 'scratch') });
    const [page] = await through(step, [
      pageOf(1, batchFromRows(texts.map((text, id) => ({ id: String(id), text }))), { release: () => {} }),
    ]);
    const column = page && batchOf(page).columnOrNulls('text');
    expect(column?.toArray()).toEqual(texts);
    expect(column).not.toBeInstanceOf(Utf8Vector);
  });

  test('leaves no file behind, at the end, after an error and when it is left', async () => {
    const folder = join(await temporaryFolder(), 'scratch');
    const some = Array.from({ length: 50 }, (_, id) => [{ id: String(id) }]);
    const step = sort([{ field: 'id' }], { folder });
    const { pages$ } = leasedPages(some);
    await lastValueFrom(pages$.pipe(step, toArray()));
    await lastValueFrom(pages$.pipe(step, take(1)));
    const broken$ = throwError(() => new Error('broken'));
    const failing$ = concat(pages$, broken$);
    await expect(lastValueFrom(failing$.pipe(step))).rejects.toThrow('broken');
    await until(async () => (await readdir(folder)).length === 0);
  });

  test.each([
    ['reject', ['1', '2', ''], 1],
    ['null', ['1', '2', 'x', ''], 0],
  ] as const)('does under %s with a key that is not of its type as it says', async (onError, expected, rejected) => {
    const context = watched();
    const some: Row[] = ['2', 'x', '', '1'].map((n) => ({ n }));
    const got = await run(sort([{ field: 'n', type: 'integer' }], { onError }, context), otherSide(some));
    expect(got.map(({ n }) => n)).toEqual(expected);
    expect(context.rejects).toHaveLength(rejected);
    expect(context.tally.rejected).toBe(rejected);
  });
});
