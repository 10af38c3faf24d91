import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { collections, columnsOf } from '../../../src/collections/index.js';
import type { Column, Row, DeclaredType } from '../../../src/core/index.js';
import type { StepDefinition } from '../../../src/steps/index.js';
import { steps } from '../../../src/steps/registry.js';
import { leasedPages } from '../../support/pages.js';
import { leads, opened, pages, pagesFor, planned, runtime, settled, through } from './support.js';

const definitions: readonly StepDefinition[] = Object.values(steps);
const input = columnsOf(collections.leads);
/** Frozen, like their pages: a step that changed one would throw. */
const rows: readonly Row[] = leads;

/** Further configurations whose rows must agree with their plan. */
const more: Readonly<Record<keyof typeof steps, readonly unknown[]>> = {
  dedupe: [{ by: ['uid', 'lead_status'] }],
  derive: [
    { zipcode: 'trim(zipcode)' },
    { age_in_years: 'num(age)', adult: 'num(age) >= 18.0', day: 'date(yearmonthday)', at: 'epoch(timestamp)', letters: 'size(email)' },
    { nothing: 'null', copy: 'lead_status', either: "blank(email) ? 'none' : email" },
  ],
  filter: ['true', 'false', 'blank(email)'],
  sample: [{ percent: 50 }, { percent: 100, by: ['uid', 'lead_status'] }],
  explode: [
    { field: 'uid', separator: '1' },
    { field: 'meta', empty: 'drop', on_error: 'null', position: 'n' },
  ],
  join: [
    { with: 'bridges', on: { bridge_id: 'id' } },
    { with: 'bridges', on: { bridge_id: 'id' }, select: ['crm_key', 'title'], reveal: ['crm_key'], as: 'b', type: 'inner' },
    { with: 'areacodes', on: { zipcode: 'city' }, pick: 'all', lookup: 'preload' },
    { with: 'users', on: { uid: 'uid' }, pick: { min: 'affid' } },
  ],
  select: [['zipcode', 'lead_id', 'middlename']],
  rename: [{}, { uid: 'lead_id', lead_id: 'uid' }, { ip_address: 'ip' }],
  cast: [{ types: { lead_accepted: 'flag', zipcode: 'text' } }, { types: { zipcode: 'integer' } }],
  sort: [{ by: ['age desc', 'lead_status'] }, { by: ['email'], memory: '32MB', on_error: 'null' }],
  limit: [1000],
  sql: [
    'SELECT age, yearmonthday AS day, avg(age) AS mean, max(timestamp) AS last FROM rows GROUP BY ALL ORDER BY ALL',
    { query: 'SELECT * EXCLUDE (timestamp) FROM rows', on_error: 'null', memory: '32MB' },
    'SELECT count(*) AS n, now() AS at, lead_accepted FROM rows GROUP BY lead_accepted',
  ],
  mask: [
    {},
    { preset: 'personal' },
    { preset: 'personal', as: 'hmac', zipcode: 'last4', age: 'keep', lead_id: 'redact' },
    { age: 'null', firstname: 'redact', lastname: 'drop', zipcode: 'last4', lead_id: 'hmac' },
  ],
  aggregate: [
    { by: ['lead_status', 'age'], compute: { all: 'count()', oldest: 'max(age)', sum: 'sum(age)', years: 'avg(num(age))' } },
    {
      compute: {
        first: 'min(yearmonthday)',
        at: 'max(timestamp)',
        yes: 'min(lead_accepted)',
        kinds: 'count_distinct(blank(email) ? null : email)',
      },
      memory: '32MB',
    },
    { by: ['is_valid', 'yearmonthday'], compute: { some: "count(lead_status == 'new' || size(email) > 3)" }, on_error: 'null' },
  ],
};

const cases = definitions.flatMap((definition) =>
  [...definition.examples, ...(more[definition.name as keyof typeof steps] ?? [])].map(
    (config) => [definition.name, JSON.stringify(config), definition, config] as const,
  ),
);

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
      const rowsOut = ['aggregate', 'sql'].includes(definition.name) ? expect.any(Number) : 2 * rows.length;
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

  test('gives the same for the same pages', async () => {
    const [first, second] = await Promise.all([1, 2].map(() => through(opened(definition, config), pagesFor(definition, rows))));
    expect(first?.map(({ rows }) => rows)).toEqual(second?.map(({ rows }) => rows));
  });
});

/** Configurations with an unknown field: the place of the problem, and its message. */
const unknownFields = [
  ['dedupe', { by: ['lead_id', 'emial'] }, ['by', 1], "unknown field 'emial'"],
  ['derive', { city: 'zip_city(zipcod)' }, ['city'], "unknown field 'zipcod'"],
  ['filter', "lead_statsu == 'new'", [], "unknown field 'lead_statsu'"],
  ['select', ['lead_id', 'psd'], [1], "unknown field 'psd'"],
  ['rename', { leadid: 'id' }, ['leadid'], "unknown field 'leadid'"],
  ['cast', { types: { aeg: 'integer' } }, ['types', 'aeg'], "unknown field 'aeg'"],
  ['aggregate', { by: ['lead_idd'], compute: { n: 'count()' } }, ['by', 0], "unknown field 'lead_idd'"],
  ['mask', { sin_numbr: 'drop' }, ['sin_numbr'], "unknown field 'sin_numbr'"],
  ['join', { with: 'bridges', on: { bridgeid: 'id' }, select: ['title'] }, ['on', 'bridgeid'], "unknown field 'bridgeid'"],
  ['join', { with: 'bridges', on: { bridge_id: 'id' }, select: ['titel'] }, ['select', 0], "bridges has no field 'titel'"],
  ['join', { with: 'bridges', on: { bridge_id: 'id' }, pick: { max: 'maxhourl' } }, ['pick', 'max'], "bridges has no field 'maxhourl'"],
  ['join', { with: 'bridges', on: { bridge_id: 'id' }, reveal: ['crm_kye'] }, ['reveal', 0], "unknown field 'crm_kye'"],
] as const;

test.each(unknownFields)('%s reports the unknown field of %j where it stands', (name, config, path, message) => {
  const definition: StepDefinition = steps[name];
  expect(planned(definition, config).problems).toEqual([{ path, message: expect.stringContaining(message) }]);
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
  ['limit', 10, { lead_id: 'lead_id', uid: 'uid', age: 'age' }],
  ['sort', { by: ['age desc'] }, { lead_id: 'lead_id', uid: 'uid', age: 'age' }],
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

test.each([
  ['dedupe', {}, []],
  ['select', ['lead_id', 'zzzzzzzzz'], [1]],
] as const)('%s reports a field that is gone at this step', (name, config, path) => {
  const definition: StepDefinition = steps[name];
  const left = input.filter((column) => column.name !== 'lead_id');
  expect(planned(definition, config, left).problems.map((problem) => problem.path)).toContainEqual(path);
});
