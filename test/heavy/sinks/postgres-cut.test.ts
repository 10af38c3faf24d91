import { lastValueFrom, mergeMap, range, tap } from 'rxjs';
import type { SourcePresence } from '../../../src/core/index.js';
import { postgres } from '../../../src/sinks/index.js';
import type { PostgresOptions } from '../../../src/sinks/index.js';
import { inPostgres, type Postgres } from '../../support/postgres.js';
import { postgresProxy, type MessageFate } from '../../support/postgres-proxy.js';
import { column, writeAll } from '../../support/sinks.js';
import { temporaryFolder } from '../../support/temporary.js';

const columns = [column('id', 'text', { source: 'id' }), column('n', 'integer')];
const before = [1, 2, 3].map((id) => ({ id: String(id), n: '0' }));
const after = [2, 3, 4].map((id) => ({ id: String(id), n: '7' }));

type Mode = Pick<PostgresOptions, 'mode' | 'on_missing'>;

const modes: readonly (readonly [string, Mode, readonly string[]])[] = [
  ['replace', { mode: 'replace' }, ['2 7', '3 7', '4 7']],
  ['merge', { mode: 'merge' }, ['1 0', '2 7', '3 7', '4 7']],
  ['merge, on_missing: delete', { mode: 'merge', on_missing: 'delete' }, ['2 7', '3 7', '4 7']],
];

/** A source that has nothing but the rows of the run. */
const presence: SourcePresence = {
  of: { fingerprint: '', service: '', account: '', collection: '' },
  key: ['id'],
  acceptDeletes: true,
  requests: () => true,
  stateOf: () => 'unread',
  missing: () => Promise.resolve(() => true),
};

async function write(url: string, table: string, mode: Mode, rows: readonly Readonly<Record<string, string>>[]) {
  const options = { url, table, ...mode, key: ['id'], create: true };
  return writeAll(postgres(options, { scratch: await temporaryFolder(), presence }), columns, rows);
}

async function found({ query }: Postgres, table: string) {
  const rows = await query(`SELECT * FROM ${table} ORDER BY id`);
  const runs = await query(`SELECT run FROM leadstream_runs WHERE table_name = '${table}'`);
  return { rows: rows.map(({ id, n }) => `${String(id)} ${String(n)}`), runs: runs.length };
}

/** The number of messages that a run sends, and of those in its first connection, which only looks. */
async function messagesOf(db: Postgres, mode: Mode): Promise<readonly [number, number]> {
  const { port, messages } = await postgresProxy(db.port, () => 'passed');
  await write(db.url, 'whole', mode, before);
  await write(db.through(port), 'whole', mode, after);
  return [messages.length, messages.indexOf('startup', 1)];
}

/** Runs with a connection that is cut at one message, checks the table, and runs again. */
async function runCutAt(db: Postgres, mode: Mode, { at, fate, expected }: { at: number; fate: MessageFate; expected: readonly string[] }) {
  const table = `leads_${at}`;
  await write(db.url, table, mode, before);
  const proxy = await postgresProxy(db.port, (_, index): MessageFate => (index === at ? fate : 'passed'));
  const outcome = await write(db.through(proxy.port), table, mode, after).then(
    () => 'published',
    (failure: unknown) => String(Reflect.get(Object(failure), 'code')),
  );
  const name = `${at} ${proxy.messages[at]}`;
  const now = outcome === 'published' ? { rows: expected, runs: 2 } : { rows: before.map(({ id, n }) => `${id} ${n}`), runs: 1 };
  expect({ name, outcome, ...(await found(db, table)) }).toEqual({ name, outcome, ...now });
  await write(db.url, table, mode, after);
  expect(await found(db, table)).toEqual({ rows: expected, runs: now.runs + 1 });
  return outcome;
}

inPostgres('a connection to PostgreSQL that is cut', (database) => {
  describe.each(modes)('in mode %s', (_title, mode, expected) => {
    test.each(['cut', 'applied'] as const)('at any message (%s) leaves the rows before or after it, never both or half', async (fate) => {
      const [db, outcomes] = [await database(), new Set<string>()];
      const [all, opening] = await messagesOf(db, mode);
      const runs = range(opening - 1, all - opening + 2).pipe(mergeMap((at) => runCutAt(db, mode, { at, fate, expected }), 8));
      await lastValueFrom(runs.pipe(tap((outcome) => outcomes.add(outcome))));
      expect([...outcomes].sort()).toEqual(['E_SINK_DATABASE', 'published']);
    });
  });

  test('for good, after its COMMIT was applied, fails the run as undecided, and the next run finds it committed', async () => {
    const db = await database();
    await write(db.url, 'leads', { mode: 'merge' }, before);
    let isDown = false;
    const proxy = await postgresProxy(db.port, (message): MessageFate => {
      if (isDown) return 'cut';
      isDown = message === 'Q COMMIT';
      return isDown ? 'applied' : 'passed';
    });
    const failure = await write(db.through(proxy.port), 'leads', { mode: 'merge' }, after).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code: 'E_SINK_DATABASE', exit: 69, message: expect.stringContaining('it is unknown whether') });
    expect(await found(db, 'leads')).toEqual({ rows: ['1 0', '2 7', '3 7', '4 7'], runs: 2 });
    await write(db.url, 'leads', { mode: 'merge' }, after);
    const last = await db.query('SELECT inserted::int, changed::int FROM leadstream_runs ORDER BY number DESC LIMIT 1');
    expect(last).toEqual([{ inserted: 0, changed: 0 }]);
  });
});
