import { deserialize, serialize } from 'node:v8';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { lastValueFrom, toArray } from 'rxjs';
import { z } from 'zod';
import { collections, columnsOf } from '../../../src/collections/index.js';
import type { Row } from '../../../src/core/index.js';
import { RowStream, type Step } from '../../../src/flow/index.js';
import { customStepOf, defineStep, filter, select } from '../../../src/steps/index.js';
import { leasedPages } from '../../support/pages.js';
import { opened, pages, parsed, planned, rowsThrough, runtime, sample, through } from './support.js';

const rows = ['1', '2', '3'].map((lead_id) => sample('leads', { lead_id, age: `${lead_id}0` }));
const columns = columnsOf(collections.leads);
const leads = (): RowStream<Row> =>
  new RowStream<Row>({
    ...{ columns, withheld: [], key: ['lead_id'] },
    open: () => ({ pages$: leasedPages([rows.slice(0, 1), rows.slice(1)]).pages$, undeclared: () => [], consistency: undefined }),
  });
const read = <T>(stream: RowStream<T>): Promise<readonly T[]> => lastValueFrom(stream.rows$.pipe(toArray()));
const failureOf = (work: () => Promise<unknown>): Promise<unknown> =>
  work().then(
    () => undefined,
    (failure: unknown) => failure,
  );

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
    expect(added?.map(({ name, sensitivity }) => [name, sensitivity])).toEqual([
      ['contact', 'personal'],
      ['seen', 'plain'],
    ]);
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

  test('takes a field that is not there, and undefined, for null', async () => {
    const nothing = defineStep('nothing', {
      adds: { a: 'text', b: 'flag' },
      open: () => (row) => ({ ...row, a: undefined }),
    });
    expect(await rowsThrough(nothing(), [{ id: '1' }])).toEqual([{ id: '1', a: null, b: null }]);
  });

  test('keeps what it likes from row to row, anew for each read', async () => {
    const numbered = defineStep('numbered', {
      adds: { no: 'integer' },
      open: () => {
        let no = 0n;
        return (row) => ({ ...row, no: (no += 1n) });
      },
    });
    const stream = leads().pipe(numbered());
    for (let time = 0; time < 2; time += 1) expect((await read(stream)).map(({ no }) => no)).toEqual([1n, 2n, 3n]);
  });

  test('gives fewer rows, or any number of them, where it says so', async () => {
    const some = defineStep('some', { rows: 'fewer', open: () => (row) => (row.lead_id === '2' ? undefined : row) });
    expect((await read(leads().pipe(some()))).map((row) => row.lead_id)).toEqual(['1', '3']);
    const twice = defineStep('twice', { rows: 'any', adds: { n: 'decimal' }, open: () => (row) => [1, 2].map((n) => ({ ...row, n })) });
    const stream = leads().pipe(twice());
    expect((await read(stream)).map((row) => [row.lead_id, row.n])).toEqual(
      ['1', '2', '3'].flatMap((id) => [
        [id, 1],
        [id, 2],
      ]),
    );
    expect(stream.columns?.find(({ name }) => name === 'lead_id')).toMatchObject({ source: 'lead_id', repeated: true });
  });

  test('is in the steps of a read with what it did, anew for each', async () => {
    const some = defineStep('some', { rows: 'any', open: () => (row) => (row.lead_id === '1' ? [] : [row, row]) });
    const stream = leads().pipe(
      filter<Row>(() => true),
      some(),
    );
    for (let time = 0; time < 2; time += 1) {
      await read(stream);
      expect(stream.steps).toMatchObject([{ at: 'filter' }, { at: 'some', tally: { filtered: 1, expanded: 2 } }]);
    }
  });

  test('leaves the vectors of columns alone that it does not touch', async () => {
    const [page] = await through(opened(definition(scaled), { field: 'age', by: 2 }), pages(rows));
    expect(page?.rows).toEqual(rows.map((row) => ({ ...row, scaled: Number(row.age) * 2 })));
  });
});

const definition = (step: unknown) => {
  const made = customStepOf(step);
  if (!made) throw new Error('no step');
  return made;
};

/** The value behind a channel to another thread. */
function postMessages(value: unknown): unknown {
  const { port1, port2 } = new MessageChannel();
  port1.postMessage(value);
  const message: unknown = receiveMessageOnPort(port2)?.message;
  port1.close();
  return message;
}

describe('a step of a program is refused at once', () => {
  test.each<[string, (row: Row) => unknown]>([
    ['structuredClone', (row) => structuredClone(row)],
    ['v8.serialize', (row) => deserialize(serialize(row))],
    ['postMessage', (row) => postMessages(row)],
    ['Object.freeze', (row) => Object.freeze(row)],
  ])('and takes rows that go through %s', async (_what, of) => {
    expect(await read(leads().pipe(defineStep('copied', { open: () => of as (row: Row) => Row })()))).toEqual(rows);
  });

  test.each<[string, () => unknown, string]>([
    ['for a name that files cannot have', () => defineStep('In Euro', { open: () => (row) => row }), 'a name of a-z, 0-9 and _'],
    ['without open', () => defineStep('x', {} as never), 'defineStep: x: open is missing: it must be a function'],
    [
      'for another version',
      () => defineStep('x', { version: 1 as never, open: () => (row) => row }),
      "x: version must be a text, like '1.2', not 1",
    ],
    ['for what checks no options', () => defineStep('x', { options: {} as never, open: () => (row) => row }), 'options must be a schema'],
    ['for options that are wrong', () => scaled({ field: 'age', by: -1 }), 'scaled: by: Too small'],
    ['for options that it does not take', () => defineStep('x', { open: () => (row) => row })({ a: 1 } as never), 'x: it takes no options'],
    [
      'for a field that the rows do not have',
      () => leads().pipe(scaled({ field: 'agee', by: 1 })),
      "unknown field 'agee', did you mean 'age'?",
    ],
    [
      'for a name that no column can have',
      () => leads().pipe(defineStep('x', { adds: { 'A B': 'text' }, open: () => (row) => row })()),
      "unlike 'A B'",
    ],
    [
      'for columns that throw',
      () =>
        defineStep('x', {
          adds: (): Record<string, 'text'> => {
            throw new Error('no');
          },
          open: () => (row) => row,
        })(),
      'x: cannot determine its columns: no',
    ],
  ])('%s', (_what, work, message) => {
    expect(work).toThrow(expect.objectContaining({ code: 'E_STEP_CONFIG', message: expect.stringContaining(message) }));
  });

  const declared = (more: object) => () => defineStep('x', { open: () => (row: Row) => row, ...more });
  test.each<[object, string]>([
    [{ adds: { a: 'number' } }, "adds.a must be one of text, flag, integer, decimal, timestamp, date, not the text 'number'"],
    [{ adds: { a: { type: 'numbr' } } }, "adds.a.type must be one of text, flag, integer, decimal, timestamp, date, not the text 'numbr'"],
    [
      { adds: { a: { type: 'text', sensitivity: 'personnal' } } },
      "adds.a.sensitivity must be one of plain, personal, secret, not the text 'personnal'; did you mean 'personal'?",
    ],
    [{ adds: { a: { type: 'text', sensitive: true } } }, "unknown option of adds.a 'sensitive', did you mean 'sensitivity'?"],
    [{ adds: { a: { sensitivity: 'plain' } } }, 'adds.a.type is missing: it must be one of text, flag'],
    [{ adds: ['a'] }, "adds must be a map of names to types, like { euro: 'decimal' }, not a list"],
    [{ adds: { a: 'text' }, removes: ['a'] }, "'a' is listed under both adds and removes; keep one"],
    [{ needs: 'uid' }, "needs must be a list, not the text 'uid'"],
    [{ needs: ['uid', 7] }, 'needs[1] must be a text, not 7'],
    [{ removes: ['uid', 'uid'] }, "removes[1]: 'uid' is listed twice; list it once"],
    [{ need: ['uid'] }, "unknown option 'need', did you mean 'needs'?"],
    [{ versoin: '1' }, "unknown option 'versoin', did you mean 'version'?"],
    [{ summary: 7 }, 'summary must be a text, not 7'],
    [{ rows: 'few' }, "rows must be one of same, fewer, any, not the text 'few'; did you mean 'fewer'?"],
  ])('for a declaration that is wrong: %j', (more, message) => {
    const refused = { code: 'E_STEP_CONFIG', message: expect.stringContaining(`defineStep: x: ${message}`) };
    expect(declared(more)).toThrow(expect.objectContaining(refused));
  });

  test.each<[object, string]>([
    [{ adds: { a: 'number' } }, 'adds.a must be one of text'],
    [{ adds: { a: { type: 'text', sensitivity: 'personnal' } } }, 'adds.a.sensitivity must be one of plain'],
    [{ needs: 'uid' }, "needs must be a list, not the text 'uid'"],
    [{ removes: [undefined] }, 'removes[0] is missing: it must be a text'],
    [{ adds: { a: 'text' }, removes: ['a'] }, "'a' is listed under both adds and removes"],
  ])('for what its functions give: %j', (gives, message) => {
    const functions = Object.fromEntries(Object.entries(gives).map(([key, value]) => [key, (): unknown => value]));
    const step = declared(functions)();
    expect(() => step()).toThrow(expect.objectContaining({ code: 'E_STEP_CONFIG', message: expect.stringContaining(message) }));
    expect(planned(definition(step), {}).problems).toEqual([{ path: [], message: expect.stringContaining(message) }]);
  });

  test('by what a function says of its options', () => {
    const positive = (given: unknown): number => {
      if (typeof given !== 'number') throw new TypeError('a number, please');
      return given;
    };
    const step = defineStep('x', { options: positive, open: () => (row) => row });
    expect(() => step('a' as never)).toThrow('x: a number, please');
  });

  test.each([
    ['gives a promise', async (given: unknown) => Promise.resolve(given)],
    ['gives one that fails', () => Promise.reject(new TypeError('later'))],
  ])('for a function of options that %s', async (_what, options) => {
    const step = defineStep('x', { options, open: () => (row) => row });
    expect(() => step({} as never)).toThrow('x: its function is asynchronous, but options are checked synchronously');
    // What fails later must not end the process.
    await new Promise((resolve) => setImmediate(resolve));
  });

  test('for a schema that has to be waited for', () => {
    const later = z.string().refine(() => Promise.resolve(true));
    const step = defineStep('x', {
      options: { '~standard': { version: 1, vendor: 'test', validate: (given) => later.parseAsync(given) as never } },
      open: () => (row) => row,
    });
    expect(() => step('a' as never)).toThrow('x: its schema is asynchronous, but options are checked synchronously');
  });
});

describe('a step of a program fails with the row, and says what to do', () => {
  const at = "for the row with lead_id '2' (row 1 of page 2)";
  const second = (of: (row: Row) => unknown) => () => (row: Row) => (row.lead_id === '2' ? (of(row) as Row) : row);

  test.each<[string, (row: Row) => unknown, string]>([
    ['a promise', (row) => Promise.resolve(row), `returned a promise ${at}; a step does not wait for it`],
    [
      'nothing',
      () => undefined,
      `returned no row ${at}; declare rows: 'fewer' if the step leaves rows out; a row kept for later would be lost`,
    ],
    ['an empty list', () => [], `returned no row ${at}`],
    ['two rows', (row) => [row, row], `returned 2 rows ${at}; declare rows: 'any' if the step returns several`],
    ['a text', () => 'jane@example.com', `returned a text ${at}; return a row`],
    ['a list in a list', (row) => [[row]], `returned a list ${at}; return a row`],
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
    ['decimal', '5', 'returned a text'],
    ['decimal', Number.NaN, 'returned NaN'],
    ['integer', 5, 'returned a number'],
    ['integer', 2n ** 63n, 'returned a bigint'],
    ['flag', 'yes', 'returned a text'],
    ['timestamp', new Date(Number.NaN), 'returned a Date'],
    ['date', new Date(1), 'returned a Date'],
  ] as const)('for a value that is no %s: %s', async (type, value, message) => {
    const stream = leads().pipe(defineStep('mine', { adds: { x: type }, open: () => (row) => ({ ...row, x: value }) })());
    const where = "in the field 'x' for the row with lead_id '1' (row 1 of page 1); it is declared as";
    expect(await failureOf(() => read(stream))).toMatchObject({ message: expect.stringContaining(`${message} ${where} ${type}`) });
  });

  test.each<[string, () => unknown, string]>([
    [
      'throws',
      () => {
        throw new RangeError('jane');
      },
      'mine: open threw RangeError (at',
    ],
    [
      'gives no function',
      () => Promise.resolve(() => undefined),
      'mine: open returned a promise, which must be awaited; it must return a function',
    ],
  ])('when open %s', async (_what, open, message) => {
    const stream = leads().pipe(defineStep('mine', { open: open as never })());
    expect(await failureOf(() => read(stream))).toMatchObject({ code: 'E_STEP_FUNCTION', message: expect.stringContaining(message) });
  });
});

describe('in a file, a step of a program', () => {
  test('takes numbers and flags that a file spells as texts', () => {
    const step = definition(
      defineStep('x', {
        options: z.object({ by: z.number(), id: z.string(), on: z.boolean().default(false), list: z.array(z.number()).default([]) }),
        open: () => (row) => row,
      }),
    );
    expect(parsed(step, { by: '2.5', id: '0123', on: 'true', list: ['1'] })).toEqual({ by: 2.5, id: '0123', on: true, list: [1] });
    expect(parsed(definition(defineStep('y', { options: z.number(), open: () => (row) => row })), '7')).toBe(7);
  });

  test('is planned with its columns, and what is wrong with them is a problem', () => {
    expect(planned(definition(scaled), { field: 'age', by: 2 })).toMatchObject({ problems: [] });
    expect(planned(definition(scaled), { field: 'agee', by: 2 }).problems).toEqual([
      { path: [], message: "unknown field 'agee', did you mean 'age'?" },
    ]);
  });

  test('counts every row', async () => {
    const any = definition(defineStep('any', { rows: 'any', open: () => (row) => Array.from({ length: Number(row.n) }, () => row) }));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 5 }), { maxLength: 4 }), async (lists) => {
        const context = runtime();
        const step: Step = any.open(parsed(any, {}), context);
        const input = lists.map((list) => list.map((n) => ({ n: String(n) })));
        const out = (await through(step, pages(...input))).flatMap((page) => page.rows).length;
        const { filtered, expanded } = context.tally;
        expect(input.flat().length + expanded).toBe(out + filtered);
        expect(out).toBe(lists.flat().reduce((sum, n) => sum + n, 0));
      }),
      { numRuns: 50 },
    );
  });
});

test('nothing else is a step', () => {
  for (const other of [
    undefined,
    null,
    {},
    () => undefined,
    { '~leadstream': { kind: 'step', format: 2, name: 'x' } },
    filter<Row>(() => true),
  ])
    expect(customStepOf(other)).toBeUndefined();
});
