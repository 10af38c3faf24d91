import { existsSync, rmSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { from, of, tap } from 'rxjs';
import {
  cast,
  collections,
  columnsOf,
  connect,
  csv,
  derive,
  filter,
  join as joinStep,
  mapAsync,
  mapRows,
  parquet,
  rename,
  select,
  writeTo,
} from '../../../src/index.js';
import type { Derivation, RowStream, Service, SinkWriter, User, Warning } from '../../../src/index.js';
import { type Responder } from '../../../src/service/index.js';
import { duckdb } from '../../support/duckdb.js';
import { service, testKey } from '../../support/services.js';
import { pageOf } from '../../support/pages.js';
import { temporaryFolder } from '../../support/temporary.js';

describe('writeTo', () => {
  const connected = async () => {
    const from = await service();
    return connect({ baseUrl: from.url, auth: { rest_api_key: testKey }, endWaitMs: 1 });
  };
  const columns = columnsOf(collections.users);

  test('publishes rows with their columns, and returns what was found out about the list', async () => {
    const [users, folder] = [await connected(), await temporaryFolder()];
    const written = await writeTo(users.users, csv({ path: join(folder, 'users.csv') }));
    expect(written).toMatchObject({ rows: 300, path: join(folder, 'users.csv'), consistency: { mode: 'repair', outcome: 'stable' } });
    const lines = (await readFile(join(folder, 'users.csv'), 'utf8')).split('\n');
    expect([lines[0]?.trim(), lines.length]).toEqual(['uid,email,affid', 302]);
  });

  test('returns what a merge did, and does not delete, since it does not know what the source had', async () => {
    const [users, path] = [await connected(), join(await temporaryFolder(), 't')];
    const merge = { path, mode: 'merge', key: ['uid'] } as const;
    await writeTo(users.users.pipe(filter(({ uid }) => uid !== '100')), parquet(merge));
    const { merged } = await writeTo(users.users, parquet(merge));
    expect(merged).toMatchObject({ inserted: 1, changed: 0, deleted: 0 });
    const deleting = writeTo(users.users, parquet({ ...merge, on_missing: 'delete' }));
    await expect(deleting).rejects.toMatchObject({ code: 'E_SINK_CONFIG', message: expect.stringContaining('needs a pipeline file') });
    const lacking = writeTo(users.users.pipe(select(['email', 'affid'])), parquet(merge));
    await expect(lacking).rejects.toMatchObject({ code: 'E_SINK_KEY' });
  });

  test('writes what steps made of the rows, by the types that they declare', async () => {
    const [users, folder] = [await connected(), await temporaryFolder()];
    const chain = users.leads.pipe(
      select(['lead_id', 'bridge_id', 'age', 'timestamp']),
      cast({ age: 'integer' }, { onError: 'null' }),
      derive({ known: { type: 'flag', of: ({ age }) => age !== null }, half: { type: 'decimal', of: ({ age }) => Number(age) / 2 } }),
      joinStep(users.bridges, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title', 'maxhourly'] }),
      rename({ lead_id: 'id' }),
    );
    const { rows } = await writeTo(chain, parquet({ path: join(folder, 'leads') }));
    const files = join(folder, 'leads', '*.parquet');
    expect(await duckdb(`SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM '${files}')`)).toEqual(
      Object.entries({
        id: 'VARCHAR',
        bridge_id: 'VARCHAR',
        age: 'BIGINT',
        timestamp: 'TIMESTAMP WITH TIME ZONE',
        known: 'BOOLEAN',
        half: 'DOUBLE',
        bridge_title: 'VARCHAR',
        bridge_maxhourly: 'BIGINT',
      }).map(([name, type]) => ({ column_name: name, column_type: type })),
    );
    const sums = `SELECT count(*) AS rows, bool_and(known = (age IS NOT NULL)) AS known, bool_and(half = coalesce(age, 0) / 2) AS half FROM '${files}'`;
    expect(await duckdb(sums)).toEqual([{ rows: String(rows), known: true, half: true }]);
  });

  const refused = (message: string | RegExp) => ({
    name: 'SinkError',
    code: 'E_SINK_CONFIG',
    message: typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message),
  });

  /** As a program without types calls it. */
  const untyped: (...given: readonly unknown[]) => Promise<unknown> = writeTo as never;

  test.each<[string, (users: Service) => readonly [unknown, unknown?], string]>([
    ['no columns for an observable', ({ users }) => [users.pages$, {}], 'the columns of these rows are unknown'],
    [
      'columns that the stream does not have',
      ({ users }) => [users.pipe(select(['uid', 'affid'])), { columns }],
      "columns: unknown field 'email'",
    ],
  ])('refuses %s, and leaves nothing', async (_what, given, message) => {
    const [users, folder] = [await connected(), await temporaryFolder()];
    const [rows, options] = given(users);
    const written = untyped(rows, csv({ path: join(folder, 'users.csv') }), options);
    await expect(written).rejects.toMatchObject(refused(message));
    expect(await readdir(folder)).toEqual([]);
  });

  test('refuses a sink that it wrote to before, and leaves what it published then', async () => {
    const [{ users }, folder] = [await connected(), await temporaryFolder()];
    for (const sink of [csv({ path: join(folder, 'users.csv') }), parquet({ path: join(folder, 'users') })]) {
      const { path = '' } = await writeTo(users, sink);
      const before = await readdir(folder, { recursive: true });
      await expect(writeTo(users, sink)).rejects.toMatchObject(refused('this sink was already used; open another one'));
      expect(await readdir(folder, { recursive: true })).toEqual(before);
      expect(existsSync(path)).toBe(true);
    }
  });

  test.each<[string, (path: string) => ReturnType<typeof csv>]>([
    ['a file', (path) => csv({ path: `${path}.csv` })],
    ['a table', (path) => parquet({ path })],
  ])('lets one of two writers of %s work at a time, and another one after it', async (_what, open) => {
    const [{ users }, folder] = [await connected(), await temporaryFolder()];
    const path = join(folder, 'users');
    const ended = await Promise.allSettled([writeTo(users, open(path)), writeTo(users, open(path))]);
    expect(ended.sort((one, other) => (one.status < other.status ? -1 : 1))).toMatchObject([
      { status: 'fulfilled', value: { rows: 300 } },
      { status: 'rejected', reason: { code: 'E_RUN_LOCKED' } },
    ]);
    expect(await writeTo(users, open(path))).toMatchObject({ rows: 300 });
  });

  test('is not published when another process took the place over', async () => {
    const [{ users }, folder] = [await connected(), await temporaryFolder()];
    const path = join(folder, 'users.csv');
    const lost = users.pages$.pipe(tap(() => rmSync(join(folder, '.users.csv.lock'), { force: true })));
    await expect(writeTo(lost, csv({ path }), { columns })).rejects.toMatchObject({ code: 'E_RUN_LOCKED' });
    expect(await readdir(folder)).toEqual([]);
  });

  test.each<[string, Derivation<User>, string]>([
    ['a number', ({ uid }) => Number(uid), 'field score has a number on page 1'],
    ['a text in a column of numbers', { type: 'integer', of: () => 'many' as never }, 'field score is not a 64-bit integer'],
  ])('refuses %s where a column has no place for it, and leaves nothing', async (_what, score, message) => {
    const [{ users }, folder] = [await connected(), await temporaryFolder()];
    const written = writeTo(users.pipe(derive({ score })), parquet({ path: join(folder, 'users') }));
    await expect(written).rejects.toMatchObject({ code: 'E_SINK_VALUE', message: expect.stringContaining(message) });
    expect(await readdir(folder)).toEqual([]);
  });

  test.each(['write', 'prepare', 'actions'] as const)('publishes nothing when it is stopped during the last %s', async (when) => {
    const path = join(await temporaryFolder(), 'users.csv');
    const users = (email: string) => of(pageOf(1, [{ uid: '1', email, affid: '' }]));
    await writeTo(users('a@b.c'), csv({ path }), { columns });
    const before = await readFile(path, 'utf8');
    const [stop, mine, sink] = [new AbortController(), new Error('mine'), await csv({ path })];
    const stopping = async <T>(what: string, work: Promise<T>): Promise<T> => {
      const done = await work;
      if (what === when) stop.abort(mine);
      return done;
    };
    const stopped: SinkWriter = {
      begin: (all) => sink.begin(all),
      write: (page) => stopping('write', sink.write(page)),
      abort: () => sink.abort(),
      prepare: async () => {
        const prepared = await stopping('prepare', sink.prepare());
        return { ...prepared, actions: (facts) => stopping('actions', prepared.actions(facts)) };
      },
    };
    const failing = writeTo(users('d@e.f'), stopped, { columns, signal: stop.signal });
    await expect(failing).rejects.toMatchObject({ code: 'E_RUN_ABORTED', cause: mine });
    expect([await readFile(path, 'utf8'), await readdir(dirname(path))]).toEqual([before, ['users.csv']]);
  });
});

describe('fields that nobody declared', () => {
  /** Users whose rows have a further field from some page on. */
  const growing =
    (since: number): Responder =>
    async (facts, next) => {
      const answer = await next(facts);
      if (facts.collection !== 'users' || answer.kind !== 'rows' || facts.page < since || facts.limit === 1) return answer;
      return { ...answer, rows: [...answer.rows].map((row) => JSON.stringify({ ...(JSON.parse(row) as object), 'New Field': 'x' })) };
    };
  const opened = async (since: number) => {
    const from = await service(undefined, { responders: [growing(since)] });
    return connect({ baseUrl: from.url, auth: { rest_api_key: testKey }, endWaitMs: 1, limit: 100, consistency: 'off' });
  };

  test('become columns when they come on the first page, under the name that steps give them', async () => {
    const [{ users }, folder] = [await opened(1), await temporaryFolder()];
    await writeTo(users.pipe(rename({ uid: 'id' })), csv({ path: join(folder, 'users.csv') }));
    expect((await readFile(join(folder, 'users.csv'), 'utf8')).split(/\r?\n/)[0]).toBe('id,email,affid,New Field');
  });

  test('are refused when they come later, and leave nothing', async () => {
    const [{ users }, folder] = [await opened(2), await temporaryFolder()];
    await expect(writeTo(users, csv({ path: join(folder, 'users.csv') }))).rejects.toMatchObject({
      code: 'E_SINK_FIELD',
      message: 'writeTo: rows of page 2 have no column for new_field',
    });
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('writeTo of rows that functions of a program make', () => {
  const users = async () => {
    const from = await service();
    return connect({ baseUrl: from.url, auth: { rest_api_key: testKey }, endWaitMs: 1 }).users;
  };
  const short = ({ uid, affid }: User) => ({ id: uid, length: uid?.length, ...(affid === null && { none: true }) });
  const columns = { id: 'text', length: 'decimal', none: { type: 'flag', sensitivity: 'plain' } } as const;

  test.each<[string, (stream: Service['users']) => RowStream<Partial<ReturnType<typeof short>>>]>([
    ['mapRows', (stream) => stream.pipe(mapRows(short, { columns }))],
    ['mapAsync', (stream) => stream.pipe(mapAsync((page) => Promise.resolve(page.rows.map(short)), 2, { columns }))],
  ])('needs no columns behind %s that names them, and loses none', async (_step, pipe) => {
    const [stream, folder] = [pipe(await users()), await temporaryFolder()];
    expect(stream.columns?.map(({ name, type, sensitivity }) => [name, type, sensitivity])).toEqual([
      ['id', 'text', 'personal'],
      ['length', 'decimal', 'personal'],
      ['none', 'flag', 'plain'],
    ]);
    const { rows } = await writeTo(stream, parquet({ path: join(folder, 'users') }));
    const query = `SELECT count(*) n, count(length) lengths, bool_and(length = length(id)) AS fits FROM '${folder}/users/*.parquet'`;
    expect([rows, await duckdb(query)]).toEqual([300, [{ n: '300', lengths: '300', fits: true }]]);
  });

  test('warns of each field that it leaves out, on whatever page it comes', async () => {
    const [folder, warnings] = [await temporaryFolder(), [] as Warning[]];
    const pages = [{ id: '1' }, { id: '2', late: 'x' }, { id: '3', late: 'y' }].map((row, index) => pageOf(index + 1, [row]));
    const text = { name: 'id', original: 'id', type: 'text', cast: false, sensitivity: 'plain' } as const;
    await writeTo(from(pages), csv({ path: join(folder, 'a.csv') }), {
      columns: [text],
      watch: { warning: (told) => void warnings.push(told) },
    });
    expect(warnings.map(({ code, message }) => [code, message])).toEqual([
      ['W_SINK_COLUMN', 'writeTo: columns does not name late, so it is left out'],
    ]);
  });
});
