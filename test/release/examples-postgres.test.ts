import { join } from 'node:path';
import { generate } from '../../src/service/index.js';
import { startCli } from '../support/cli.js';
import { inPostgres } from '../support/postgres.js';
import { listed, service } from '../support/services.js';
import { temporaryFolder } from '../support/temporary.js';

const example = join(process.cwd(), 'examples', 'postgres-upsert.yaml');

inPostgres('postgres-upsert.yaml', (database) => {
  test('killed in the middle and run again, leaves one row of each lead and writes no row twice', async () => {
    const [db, from] = [await database(), await service(generate({ leads: 5_000, bridges: 50, seed: 7 }), { faults: ['delay=30@rate=1'] })];
    const surroundings = { cwd: await temporaryFolder(), env: { ...from.env, DATABASE_URL: db.url } };
    const run = async () => startCli(['run', example], surroundings).finished;
    const runs = async () => db.query('SELECT inserted::int, changed::int, unchanged::int FROM leadstream_runs ORDER BY number');

    const killed = startCli(['run', example], surroundings);
    await from.until((requests) => requests.length > 20);
    killed.process.kill('SIGKILL');
    await killed.finished;
    expect(await db.query(`SELECT to_regclass('leads') AS made`)).toEqual([{ made: null }]);

    expect(await run()).toMatchObject({ code: 0 });
    const bridges = new Map((await listed(from, 'bridges')).map(({ id, title }) => [id, title]));
    const expected = (await listed(from, 'leads')).map(({ lead_id, lead_status, timestamp, bridge_id }) => ({
      ...{ lead_id, lead_status, bridge_id, bridge_title: bridges.get(bridge_id ?? '') ?? null },
      created_at: timestamp === '' ? null : new Date(Number(timestamp) * 1_000),
    }));
    const inOrder = expected.toSorted((a, b) => Buffer.compare(Buffer.from(a.lead_id ?? ''), Buffer.from(b.lead_id ?? '')));
    expect(await db.query('SELECT * FROM leads ORDER BY lead_id')).toEqual(inOrder);

    await db.query(`UPDATE leads SET bridge_title = 'Stale' WHERE lead_id IN (SELECT lead_id FROM leads LIMIT 7)`);
    expect(await run()).toMatchObject({ code: 0 });
    expect(await runs()).toEqual([
      { inserted: 5_000, changed: 0, unchanged: 0 },
      { inserted: 0, changed: 7, unchanged: 4_993 },
    ]);
  });
});
