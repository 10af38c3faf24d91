import { existsSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { of, throwError } from 'rxjs';
import {
  collections,
  columnsOf,
  connect,
  csv,
  writeTo,
  mapRows,
  ndjson,
  parquet,
  select,
  stdout,
  type Service,
  type Warning,
} from '../../../src/index.js';
import { service, testKey } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

describe('writeTo', () => {
  const connected = async () => {
    const from = await service();
    return connect({ baseUrl: from.url, auth: { rest_api_key: testKey }, endWaitMs: 1 });
  };
  const columns = columnsOf(collections.users);

  test('publishes a stream of pages', async () => {
    const [users, folder] = [await connected(), await temporaryFolder()];
    const written = await writeTo(users.users$, await csv({ path: join(folder, 'users.csv') }), { columns });
    expect(written).toMatchObject({ rows: 300, path: join(folder, 'users.csv') });
    expect((await readFile(join(folder, 'users.csv'), 'utf8')).split('\n')).toHaveLength(302);
  });

  const refused = (message: string | RegExp) => ({
    name: 'SinkError',
    code: 'E_SINK_CONFIG',
    message: typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message),
  });

  /** As a program without types calls it. */
  const untyped: (...given: readonly unknown[]) => Promise<unknown> = writeTo as never;

  test.each<[string, (users: Service) => readonly [unknown, unknown?], string]>([
    ['no columns', ({ users$ }) => [users$, {}], 'columns is missing: it must be a list that is not empty'],
    ['no options', ({ users$ }) => [users$], 'what is given must be an object with columns, name, signal, watch, not undefined'],
    ['an empty list of columns', ({ users$ }) => [users$, { columns: [] }], 'columns must be a list that is not empty'],
    [
      'names as columns',
      ({ users$ }) => [users$, { columns: ['uid'] }],
      "columns[0] must be an object with name, original, type, not the text 'uid'",
    ],
    [
      'a column of an unknown type',
      ({ users$ }) => [users$, { columns: [{ ...columns[0], type: 'string' }] }],
      'columns[0].type must be one of text, flag, integer',
    ],
    ['another name for the columns', ({ users$ }) => [users$, { colums: columns }], "unknown option 'colums', did you mean 'columns'?"],
    ['a signal that is none', ({ users$ }) => [users$, { columns, signal: 5 }], 'signal must be an AbortSignal, not 5'],
    [
      'rows',
      (users) => [users.rows('users'), { columns }],
      'the stream gives an object that is no page; write service.leads$ or service.pages(…), and not rows',
    ],
    ['nothing in place of pages', () => [of(null), { columns }], 'the stream gives null that is no page'],
    ['the service', (users) => [users, { columns }], 'the first argument is a stream of pages, like service.leads$, and not an object'],
    [
      'columns of another list',
      ({ users$ }) => [users$, { columns: columnsOf(collections.bridges) }],
      '20 of 21 columns are in no row of page 1: ',
    ],
    [
      'columns of another list, for pages of rows',
      ({ users$ }) => [users$.pipe(mapRows((row) => ({ ...row }))), { columns: columnsOf(collections.areacodes) }],
      'declare the columns of these rows, which have uid, email, affid',
    ],
  ])('refuses %s, and leaves nothing', async (_what, given, message) => {
    const [users, folder] = [await connected(), await temporaryFolder()];
    const [pages$, options] = given(users);
    await expect(untyped(pages$, await csv({ path: join(folder, 'users.csv') }), options)).rejects.toMatchObject(refused(message));
    expect(await readdir(folder)).toEqual([]);
  });

  test('refuses a sink that was not awaited, and leaves nothing', async () => {
    const [users, folder] = [await connected(), await temporaryFolder()];
    const written = untyped(users.users$, csv({ path: join(folder, 'users.csv') }), { columns });
    await expect(written).rejects.toMatchObject(refused('the sink is a promise, which has to be awaited, like: await csv({ path })'));
    expect(await readdir(folder)).toEqual([]);
    await expect(untyped(users.users$, csv({} as never), { columns })).rejects.toMatchObject(refused('csv: path is missing'));
  });

  test.each([undefined, { path: 'users.csv' }, 'users.csv'])('refuses %j in place of a sink', async (sink) => {
    await expect(untyped((await connected()).users$, sink, { columns })).rejects.toMatchObject(
      refused('writeTo: the second argument is a sink'),
    );
  });

  test('refuses a sink that it wrote to before, and leaves what it published then', async () => {
    const [users, folder] = [await connected(), await temporaryFolder()];
    for (const sink of [await csv({ path: join(folder, 'users.csv') }), await parquet({ path: join(folder, 'users') })]) {
      const { path = '' } = await writeTo(users.users$, sink, { columns });
      const before = await readdir(folder, { recursive: true });
      await expect(writeTo(users.users$, sink, { columns })).rejects.toMatchObject(refused('wrote to this sink before; open another one'));
      expect(await readdir(folder, { recursive: true })).toEqual(before);
      expect(existsSync(path)).toBe(true);
    }
  });

  test('refuses a sink that another stream is writing into, which goes on', async () => {
    const [users, folder] = [await connected(), await temporaryFolder()];
    const sink = await csv({ path: join(folder, 'users.csv') });
    const writing = writeTo(users.users$, sink, { columns });
    await expect(writeTo(users.users$, sink, { columns })).rejects.toMatchObject(refused('wrote to this sink before'));
    expect(await writing).toMatchObject({ rows: 300 });
  });

  test('warns of columns that the rows do not have while they have most', async () => {
    const [users, folder] = [await connected(), await temporaryFolder()];
    const warnings: Warning[] = [];
    const options = { columns, watch: { warning: ({ code, message }: Warning) => void warnings.push({ code, message }) } };
    await writeTo(users.users$.pipe(select(['uid', 'affid'])), await csv({ path: join(folder, 'users.csv') }), options);
    expect(warnings).toEqual([{ code: 'W_SINK_COLUMN', message: 'writeTo: 1 of 3 columns are in no row of page 1: email' }]);
  });

  test('leaves nothing when the stream fails', async () => {
    const folder = await temporaryFolder();
    const failing$ = throwError(() => new Error('broken'));
    await expect(writeTo(failing$, await csv({ path: join(folder, 'users.csv') }), { columns })).rejects.toThrow('broken');
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('a sink refuses, in words, options', () => {
  const sinks: Readonly<Record<string, (options: never) => Promise<unknown>>> = { csv, ndjson, parquet, stdout };

  test.each<[string, unknown, string]>([
    ['csv', {}, 'csv: path is missing: it must be a text that is not empty'],
    ['csv', undefined, 'csv: what is given must be an object with path, naming, types,'],
    ['csv', { path: 'a.csv', columns: ['uid', 'uid'] }, "csv: columns[1]: 'uid' is listed twice; list it once"],
    ['csv', { pth: 'a.csv' }, "csv: unknown option 'pth', did you mean 'path'?"],
    ['csv', { path: '' }, 'csv: path must be a text that is not empty'],
    ['csv', { path: 'a.csv', bom: 'yes' }, "csv: bom must be true or false, not the text 'yes'"],
    ['csv', { path: 'a.csv', delimiter: ';;' }, 'csv: delimiter: one character, other than a quote'],
    ['csv', { path: 'a.csv', permissions: 0o640 }, 'csv: permissions must be a text, not 416'],
    ['ndjson', { path: 'a', types: 'typd' }, "ndjson: types must be one of typed, text, not the text 'typd'; did you mean 'typed'?"],
    ['parquet', { path: 'a', keep: -1 }, 'parquet: keep must be a whole number from 0 to 1000 or an object with runs, copies, not -1'],
    ['parquet', { path: 'a', keep: { runs: 0 } }, 'parquet: keep.runs must be a whole number from 1 to 1000, not 0'],
    ['parquet', { path: 'a', columns: 'uid' }, "parquet: columns must be a list that is not empty, not the text 'uid'"],
    ['parquet', { path: 'a', mode: 'replace_partitions' }, 'parquet: mode: replace_partitions needs partition_by'],
    ['stdout', { format: 'xml' }, "stdout: format must be one of ndjson, csv, table, not the text 'xml'"],
  ])('%s(%j)', async (name, options, message) => {
    const refused = sinks[name]?.(options as never);
    await expect(refused).rejects.toMatchObject({ code: 'E_SINK_CONFIG', message: expect.stringContaining(message) });
    await expect(refused).rejects.not.toMatchObject({ message: expect.stringMatching(/→|✖|Invalid input/) });
  });
});
