import { lastValueFrom, toArray } from 'rxjs';
import { z } from 'zod';
import { collections, columnsOf } from '../../../src/collections/index.js';
import type { Row } from '../../../src/core/index.js';
import type { RowStream } from '../../../src/flow/index.js';
import { defineStep, select } from '../../../src/steps/index.js';
import { leasedPages } from '../../support/pages.js';
import { knownStream, sample } from './support.js';

const rows = ['1', '2', '3'].map((lead_id) => sample('leads', { lead_id, age: `${lead_id}0` }));
const columns = columnsOf(collections.leads);
const leads = (): RowStream<Row> => knownStream(leasedPages([rows.slice(0, 1), rows.slice(1)]).pages$, columns, ['lead_id']);
const read = <T>(stream: RowStream<T>): Promise<readonly T[]> => lastValueFrom(stream.rows$.pipe(toArray()));
const failureOf = (work: () => Promise<unknown>): Promise<unknown> => work().catch((failure: unknown) => failure);

const scaled = defineStep('scaled', {
  options: z.object({ field: z.string(), by: z.number().positive() }),
  needs: ({ field }) => [field],
  adds: { scaled: 'decimal' },
  open:
    ({ field, by }) =>
    (row) => ({ ...row, scaled: Number(row[field]) * by }),
});

describe('a step of a program', () => {
  test('adds columns to rows, and to the columns of the stream, as sensitive as the rows that it is given', async () => {
    const stream = leads().pipe(scaled({ field: 'age', by: 2 }));
    expect(await read(stream)).toEqual(rows.map((row) => ({ ...row, scaled: Number(row.age) * 2 })));
    const added = { name: 'scaled', original: 'scaled', type: 'decimal', cast: true, sensitivity: 'personal' };
    expect(stream.columns).toEqual([...columns, added]);
    const plain = leads().pipe(select(['lead_id', 'lead_status']), scaled({ field: 'lead_id', by: 2 }));
    expect(plain.columns?.at(-1)).toEqual({ ...added, sensitivity: 'plain' });
  });

  test('does not take a column for plain because only plain ones are needed: the function sees the whole row', () => {
    const contact = defineStep('contact', {
      needs: ['lead_id'],
      adds: { contact: 'text', seen: { type: 'flag', sensitivity: 'plain' } },
      open: () => (row) => ({ ...row, contact: row.email, seen: true }),
    });
    const added = leads().pipe(contact()).columns?.slice(-2);
    expect(added?.map(({ sensitivity }) => sensitivity)).toEqual(['personal', 'plain']);
  });

  test('removes columns, and gives others new values in their places', async () => {
    const changed = defineStep('changed', {
      adds: { email: { type: 'text', sensitivity: 'plain' } },
      removes: ['age'],
      open: () => (row) => ({ ...row, email: 'hidden' }),
    });
    const stream = leads().pipe(changed());
    const names = columns.map(({ name }) => name).filter((name) => name !== 'age');
    expect((await read(stream)).map((row) => [Object.keys(row), row.email])).toEqual(rows.map(() => [names, 'hidden']));
    expect(stream.columns?.map(({ name }) => name)).toEqual(names);
    expect(stream.columns?.find(({ name }) => name === 'email')).toEqual({
      ...{ name: 'email', original: 'email', type: 'text', cast: true, sensitivity: 'plain' },
    });
  });

  test('gives fewer rows, or any number of them, where it says so', async () => {
    const some = defineStep('some', { rows: 'fewer', open: () => (row) => (row.lead_id === '2' ? undefined : row) });
    expect((await read(leads().pipe(some()))).map((row) => row.lead_id)).toEqual(['1', '3']);
    const twice = defineStep('twice', { rows: 'any', adds: { n: 'decimal' }, open: () => (row) => [1, 2].map((n) => ({ ...row, n })) });
    const stream = leads().pipe(twice());
    const expected = ['1', '2', '3'].flatMap((id) => [1, 2].map((n) => [id, n]));
    expect((await read(stream)).map((row) => [row.lead_id, row.n])).toEqual(expected);
    expect(stream.columns?.find(({ name }) => name === 'lead_id')).toMatchObject({ source: 'lead_id', repeated: true });
  });
});

const same = () => (row: Row) => row;

test.each<[string, () => unknown, string]>([
  ['for a name that files cannot have', () => defineStep('In Euro', { open: same }), 'the name of a step must be made of a-z, 0-9 and _'],
  ['for options that are wrong', () => scaled({ field: 'age', by: -1 }), 'scaled: by: Too small'],
  ['for a field that the rows do not have', () => leads().pipe(scaled({ field: 'agee', by: 1 })), "unknown field 'agee'"],
])('a step of a program is refused at once %s', (_what, work, message) => {
  expect(work).toThrow(expect.objectContaining({ code: 'E_STEP_CONFIG', message: expect.stringContaining(message) }));
});

describe('a step of a program fails with the row, and says what to do', () => {
  const at = "for the row with lead_id '2' (row 1 of page 2)";
  const second = (of: (row: Row) => unknown) => () => (row: Row) => (row.lead_id === '2' ? (of(row) as Row) : row);

  test.each<[string, (row: Row) => unknown, string]>([
    ['a promise', (row) => Promise.resolve(row), `returned a promise ${at}; a step does not wait for it`],
    [
      'a row that lacks a field',
      (row) => Object.fromEntries(Object.entries(row).filter(([name]) => name !== 'age')),
      `left out the field 'age' ${at}; return { ...row, … }, or list it under removes`,
    ],
    ['a row with another value', (row) => ({ ...row, age: '1' }), `changed the field 'age' ${at}; list it under adds, with its type`],
    ['a row with another field', (row) => ({ ...row, agee: '1' }), `added the field 'agee' ${at}; list it under adds, with its type`],
  ])('for %s', async (_what, of, message) => {
    const stream = leads().pipe(defineStep('mine', { open: second(of) })());
    expect(await failureOf(() => read(stream))).toMatchObject({
      code: 'E_STEP_FUNCTION',
      message: expect.stringContaining(`mine: the function ${message}`),
    });
  });

  test.each([
    ['text', 5, 'returned a number'],
    ['decimal', Number.NaN, 'returned NaN'],
  ] as const)('for a value that is no %s: %s', async (type, value, message) => {
    const stream = leads().pipe(defineStep('mine', { adds: { x: type }, open: () => (row) => ({ ...row, x: value }) })());
    const where = "in the field 'x' for the row with lead_id '1' (row 1 of page 1); it is declared as";
    expect(await failureOf(() => read(stream))).toMatchObject({ message: expect.stringContaining(`${message} ${where} ${type}`) });
  });
});
