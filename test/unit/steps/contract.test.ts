import { z } from 'zod';
import { collections, columnsOf } from '../../../src/collections/index.js';
import type { Column, Row, DeclaredType } from '../../../src/core/index.js';
import type { OnError } from '../../../src/flow/index.js';
import type { StepDefinition } from '../../../src/steps/index.js';
import { steps } from '../../../src/steps/registry.js';
import { leasedPages } from '../../support/pages.js';
import { casesOf, leads, opened, pages, pagesFor, runtime, settled, through } from './support.js';

const definitions: readonly StepDefinition[] = Object.values(steps);
const input = columnsOf(collections.leads);
/** Frozen, like their pages: a step that changed one would throw. */
const rows: readonly Row[] = leads;

const cases = casesOf({});

/** Whether a value is what a column promises. */
function keeps(column: Column, value: Row[string] | undefined): boolean {
  const kinds: Readonly<Record<DeclaredType, (value: unknown) => boolean>> = {
    text: (value) => typeof value === 'string',
    flag: (value) => typeof value === 'boolean',
    integer: (value) => typeof value === 'bigint',
    decimal: (value) => typeof value === 'number',
    timestamp: (value) => value instanceof Date,
    date: (value) => value instanceof Date && value.getTime() % 86_400_000 === 0,
  };
  return value === null || (value !== undefined && (column.cast ? kinds[column.type](value) : typeof value === 'string'));
}

describe.each(definitions.map((definition) => [definition.name, definition] as const))('%s', (_name, definition) => {
  test('has a summary and an example', () => {
    expect(definition.summary).toMatch(/^[A-Z].*\.$/);
    expect(definition.examples.length).toBeGreaterThan(0);
  });

  test('describes its configuration, key by key', () => {
    const schema = z.toJSONSchema(definition.config(), { io: 'input' });
    const described = (schema.anyOf ?? [schema]).flatMap((form) => {
      const keys = Object.values(form.properties ?? {});
      return keys.length > 0 ? keys : [form];
    });
    for (const key of described) expect(key).toMatchObject({ description: expect.stringMatching(/\.$/) });
  });

  test('refuses configurations of another kind', () => {
    for (const config of [null, -7, true, { no_such_key: [{}] }]) expect(definition.config().safeParse(config).success).toBe(false);
  });

  test('turns a page without rows into a page without rows, or into none where it is blocking', async () => {
    const out = await through(opened(definition, definition.examples[0]), pagesFor(definition, []));
    expect(out).toMatchObject(definition.blocking ? [] : [{ number: 1, rows: [] }]);
  });

  test('gives nothing for nothing', async () => {
    expect(await through(opened(definition, definition.examples[0]), [])).toEqual([]);
  });
});

describe.each(cases)('%s: %s', (_name, _json, definition, config) => {
  test('plans columns with names of their own, and gives rows with exactly these columns, of the planned types', async () => {
    const { columns, problems } = await settled(definition, config);
    const names = columns.map(({ name }) => name);
    expect([problems, names]).toEqual([[], [...new Set(names)]]);
    for (const { rows: given } of await through(opened(definition, config), pagesFor(definition, rows))) {
      for (const row of given) expect(Object.keys(row)).toEqual(names);
      expect(given.flatMap((row) => columns.filter((column) => !keeps(column, row[column.name])))).toEqual([]);
    }
  });

  test('keeps the number and the lease of every page, also of one that becomes empty; or releases all, where it is blocking', async () => {
    if (definition.blocking) {
      const { pages: sent, released } = leasedPages([rows, [], rows]);
      const got = await through(opened(definition, config), sent);
      expect(released).toEqual([1, 2, 3]);
      const rowsOut = ['aggregate', 'sql', 'dedupe'].includes(definition.name) ? expect.any(Number) : 2 * rows.length;
      expect(got.map(({ number, rows: { length } }) => [number, length])).toEqual([[1, rowsOut]]);
      return;
    }
    const sent = pages(rows, [], rows);
    const got = await through(opened(definition, config), sent);
    expect(got.map(({ number }) => number)).toEqual([1, 2, 3]);
    expect(got.map(({ lease }) => lease)).toEqual(sent.map(({ lease }) => lease));
  });

  test('accounts for every row', async () => {
    const context = runtime();
    const out = await through(opened(definition, config, context), pagesFor(definition, rows, rows));
    const { filtered, duplicates, beyondLimit, unmatched, rejected, grouped, expanded, groups } = context.tally;
    const written = out.reduce((sum, { rows }) => sum + rows.length, 0);
    expect(written + filtered + duplicates + beyondLimit + unmatched + rejected + grouped).toBe(2 * rows.length + expanded + groups);
    expect(context.rejects.length).toBe(rejected);
  });
});

/** Configurations, and what each makes of the column `lead_id`: the name and source of every column that is left of three, and whether a row may be there several times. */
const sources: readonly (readonly [keyof typeof steps, unknown, Readonly<Record<string, string | undefined>>])[] = [
  ['dedupe', {}, { lead_id: 'lead_id', uid: 'uid', age: 'age' }],
  ['filter', 'true', { lead_id: 'lead_id', uid: 'uid', age: 'age' }],
  ['select', ['age', 'lead_id'], { age: 'age', lead_id: 'lead_id' }],
  ['rename', { lead_id: 'id' }, { id: 'lead_id', uid: 'uid', age: 'age' }],
  ['rename', { lead_id: 'uid', uid: 'lead_id' }, { uid: 'lead_id', lead_id: 'uid', age: 'age' }],
  ['cast', { types: { lead_id: 'integer' } }, { lead_id: 'lead_id', uid: 'uid', age: 'age' }],
  ['cast', {}, { lead_id: 'lead_id', uid: 'uid', age: 'age' }],
  ['derive', { lead_id: 'uid', copy: 'age' }, { lead_id: undefined, uid: 'uid', age: 'age', copy: undefined }],
  ['sample', { percent: 1 }, { lead_id: 'lead_id', uid: 'uid', age: 'age' }],
  ['explode', { field: 'uid' }, { lead_id: 'lead_id, repeated', uid: undefined, age: 'age, repeated' }],
  ['aggregate', { by: ['age', 'lead_id'], compute: { uid: 'min(uid)' } }, { age: 'age', lead_id: 'lead_id', uid: undefined }],
  ['sql', 'SELECT lead_id, age FROM rows', { lead_id: undefined, age: undefined }],
  ['sort', { by: ['age desc'] }, { lead_id: 'lead_id', uid: 'uid', age: 'age' }],
  ['limit', 10, { lead_id: 'lead_id', uid: 'uid', age: 'age' }],
  ['mask', { uid: 'drop', lead_id: 'hmac' }, { lead_id: undefined, age: 'age' }],
  ['mask', { lead_id: 'null', uid: 'last4', age: 'redact' }, { lead_id: undefined, uid: undefined, age: undefined }],
  [
    'join',
    { with: 'users', on: { uid: 'uid' }, select: ['uid'], pick: 'first' },
    { lead_id: 'lead_id', uid: 'uid', age: 'age', users_uid: undefined },
  ],
  [
    'join',
    { with: 'users', on: { uid: 'uid' }, select: ['uid'], pick: 'all' },
    { lead_id: 'lead_id, repeated', uid: 'uid, repeated', age: 'age, repeated', users_uid: undefined },
  ],
];

describe('the source of a column', () => {
  test('is its own name as it arrives', () => {
    expect(input.map(({ source }) => source)).toEqual(input.map(({ name }) => name));
  });

  test.each(sources)('%s %j keeps it where the values are kept', async (name, config, expected) => {
    const definition: StepDefinition = steps[name];
    const some = input.filter((column) => ['lead_id', 'uid', 'age'].includes(column.name));
    const { columns } = await settled(definition, config, some);
    const told = ({ source, repeated }: Column) => (source !== undefined && repeated ? `${source}, repeated` : source);
    expect(Object.fromEntries(columns.map((column) => [column.name, told(column)]))).toEqual(expected);
  });

  test('is looked at in every step', () => {
    expect(new Set(sources.map(([name]) => name))).toEqual(new Set(Object.keys(steps)));
  });
});

/** Three leads, of which a step cannot take the second: the field at fault, the reason, and what is left of the ages under `null`. */
const unfit: readonly (readonly [keyof typeof steps, unknown, field: string, reason: string, left: readonly unknown[]])[] = [
  ['derive', { age: 'num(age) / 2.0' }, 'age', 'num() cannot read the text', [20.5, null, 21]],
  ['cast', { types: { age: 'integer' } }, 'age', 'is not a 64-bit integer', [41n, null, 42n]],
  ['filter', 'num(age) > 40.0', 'condition', 'num() cannot read the text', ['41', '42']],
];

describe.each(unfit)('a value that %s %j cannot take', (name, config, field, reason, left) => {
  const given = ['41', 'personal data', '42'].map((age, index) => ({ ...leads[0], lead_id: String(index), age }));
  const definition: StepDefinition = steps[name];
  const under = async (onError: OnError) => {
    const context = runtime({ onError });
    const out = await through(opened(definition, config, context), pagesFor(definition, given));
    return { context, ages: out.flatMap((page) => page.rows).map(({ age }) => age) };
  };

  test('sends the row to the rejects, with field and reason and without the value', async () => {
    const { context, ages } = await under('reject');
    expect(ages).toHaveLength(2);
    expect(context.rejects).toEqual([{ row: given[1], fault: { field, reason, page: 1, index: 1 } }]);
    expect(context.tally).toMatchObject({ rejected: 1, nulled: 0 });
  });

  test('is null under on_error: null, and counted', async () => {
    const { context, ages } = await under('null');
    expect(ages).toEqual(left);
    expect(context.tally).toMatchObject({ rejected: 0, nulled: 1 });
  });

  test('ends the read under on_error: fail', async () => {
    await expect(under('fail')).rejects.toMatchObject({ message: expect.stringContaining(reason) });
  });
});
