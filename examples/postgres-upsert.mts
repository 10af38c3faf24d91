/**
 * Keeps a PostgreSQL table up to date with the leads and the title of their bridge: one row for each lead, by its key.
 *
 *   npm install leadstream pg
 *   LEADSTREAM_BASE_URL=… LEADSTREAM_REST_API_KEY=… PGHOST=… PGDATABASE=… npx tsx postgres-upsert.mts
 *
 * Each page is one atomic statement, and the next page is delivered once the last one is committed. So the worker may be killed at any time and
 * run again by a scheduler: unchanged rows are left alone, the others are written. Leads that the service no longer has stay in the table.
 */
import { Client } from 'pg';
import { lastValueFrom } from 'rxjs';
import { cast, connect, connectionFromEnvironment, dedupe, deliver, join, LeadstreamError, rename, select } from 'leadstream';

const table = `
  create table if not exists leads (
    lead_id text primary key,
    lead_status text,
    created_at timestamptz,
    bridge_id text,
    bridge_title text
  )`;

/** In key order: two workers lock the same rows in the same order, so they never deadlock. */
const upsert = `
  insert into leads as kept
  select * from unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::text[]) as page order by 1
  on conflict (lead_id) do update
  set (lead_status, created_at, bridge_id, bridge_title) = row (excluded.lead_status, excluded.created_at, excluded.bridge_id, excluded.bridge_title)
  where kept is distinct from excluded
  returning xmax = 0 as inserted`;

const connection = connectionFromEnvironment(process.env);
if ('missing' in connection) throw new LeadstreamError('E_USAGE', `set ${connection.missing}`);

await using service = connect({ ...connection, limit: 500, concurrency: 2, window: 4, consistency: 'repair' });
const database = new Client();
await database.connect();
await database.query(table);

const leads = service.leads.pipe(
  dedupe(['lead_id']), // a statement must not touch a row twice
  select(['lead_id', 'lead_status', 'timestamp', 'bridge_id']),
  cast({ timestamp: 'timestamp' }, { onError: 'null' }),
  rename({ timestamp: 'created_at' }),
  join(service.bridges, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'] }),
);

const done = { read: 0, inserted: 0, changed: 0 };
const written$ = leads.pages$.pipe(
  deliver(async ({ rows }) => {
    const columns = (['lead_id', 'lead_status', 'created_at', 'bridge_id', 'bridge_title'] as const).map((name) =>
      rows.map((row) => row[name]),
    );
    const result = await database.query<{ readonly inserted: boolean }>(upsert, columns);
    const inserted = result.rows.filter((row) => row.inserted).length;
    done.read += rows.length;
    done.inserted += inserted;
    done.changed += result.rows.length - inserted;
  }),
);
try {
  await lastValueFrom(written$, { defaultValue: 0 });
} finally {
  await database.end();
}
process.stdout.write(`${JSON.stringify(done)}\n`);
