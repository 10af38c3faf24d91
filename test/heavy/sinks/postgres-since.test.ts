import { sinceTests, since } from '../../contracts/since.js';
import { Nights } from '../../support/nights.js';
import { inPostgres } from '../../support/postgres.js';

inPostgres('since, with a table of PostgreSQL', (database) => {
  for (const mode of ['append', 'merge'] as const)
    describe(mode, () => {
      sinceTests(async () => {
        const { url, query } = await database();
        const to = `postgres: { url: '\${DATABASE_URL}', table: leads, mode: ${mode}, create: true, columns: [lead_id, lead_status] }`;
        const ids = () => query('SELECT lead_id AS id, lead_status AS status FROM leads');
        const nights = await Nights.of({ body: `from: leads\n${since}\nto:\n  - ${to}`, env: { DATABASE_URL: url }, ids });
        return { nights, mode, rows: async () => (await ids()).map(({ id, status }) => [String(id), String(status)] as const) };
      }, 1);
    });
});
