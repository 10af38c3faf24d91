import { afterEach, expect, test } from '@jest/globals';
import { startExample } from '../support/examples.js';
import { postgresPrograms, startPostgres, type Postgres } from '../support/postgres.js';
import { listed, service } from '../support/services.js';
import { until } from '../support/until.js';
import { generate } from '../../src/service/index.js';

const running: Postgres[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop()));
});

async function postgres(): Promise<Postgres> {
  const server = await startPostgres();
  running.push(server);
  return server;
}

const title = 'postgres-upsert.ts, killed in the middle and run again, leaves one row of each lead and writes no row twice';

/** With a server that is there; without it, the report shows a skipped test that names it. */
if (postgresPrograms === undefined) test.skip(`${title}: postgres is not installed here`, () => {});
else
  test(title, async () => {
    const [database, from] = [
      await postgres(),
      await service(generate({ leads: 20_000, bridges: 50, seed: 7 }), { faults: ['delay=30@rate=1'] }),
    ];
    const env = { ...from.env, ...database.env };
    const count = async () => {
      const [row] = await database.query(`select to_regclass('leads') is not null as made`);
      if (!(row as { made: boolean }).made) return 0;
      return Number(((await database.query('select count(*) from leads'))[0] as { count: string }).count);
    };

    const killed = await startExample('postgres-upsert.ts', env);
    await until(async () => (await count()) >= 3_000);
    killed.process.kill('SIGKILL');
    await killed.finished;
    const kept = await count();
    expect(kept).toBeLessThan(20_000);
    expect(kept % 500).toBe(0);

    const again = await (await startExample('postgres-upsert.ts', env)).finished;
    expect({ ...again, stdout: JSON.parse(again.stdout || '{}') }).toEqual({
      ...{ code: 0, stderr: '' },
      stdout: { read: 20_000, inserted: 20_000 - kept, changed: 0 },
    });
    const bridges = new Map((await listed(from, 'bridges')).map(({ id, title }) => [id, title]));
    const expected = (await listed(from, 'leads')).map(({ lead_id, lead_status, timestamp, bridge_id }) => ({
      ...{ lead_id, lead_status, bridge_id, bridge_title: bridges.get(bridge_id ?? '') ?? null },
      created_at: timestamp === '' ? null : new Date(Number(timestamp) * 1_000),
    }));
    const order = (rows: readonly unknown[]) =>
      (rows as readonly { lead_id: string }[]).toSorted((a, b) => (a.lead_id < b.lead_id ? -1 : 1));
    expect(order(await database.query('select * from leads'))).toEqual(order(expected));

    await database.query(`update leads set bridge_title = 'Stale' where lead_id in (select lead_id from leads limit 7)`);
    const repaired = await (await startExample('postgres-upsert.ts', env)).finished;
    expect(JSON.parse(repaired.stdout)).toEqual({ read: 20_000, inserted: 0, changed: 7 });
  });
