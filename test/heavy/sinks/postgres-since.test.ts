import { expect, test } from '@jest/globals';
import { sinceTests, since } from '../../contracts/since.js';
import { Nights } from '../../support/nights.js';
import { inPostgres, type Postgres } from '../../support/postgres.js';
import { leads } from '../../support/services.js';

inPostgres('since, with a table of PostgreSQL', (database) => {
  const nightsIn = async ({ url, query }: Postgres, mode: 'append' | 'merge') => {
    const to = `postgres: { url: '\${DATABASE_URL}', table: leads, mode: ${mode}, create: true, columns: [lead_id, lead_status] }`;
    const ids = () => query('SELECT lead_id AS id, lead_status AS status FROM leads');
    return Nights.of({ body: `from: leads\n${since}\nto:\n  - ${to}`, env: { DATABASE_URL: url }, ids });
  };

  for (const mode of ['append', 'merge'] as const)
    describe(mode, () => {
      sinceTests(async () => {
        const made = await database();
        const nights = await nightsIn(made, mode);
        const rows = async () => (await nights.target.ids('', '')).map(({ id, status }) => [String(id), String(status)] as const);
        return { nights, mode, rows };
      }, 1);
    });

  test.each(['DROP TABLE leads', 'TRUNCATE leads', "DELETE FROM leads WHERE lead_id = '7'"])(
    'reads everything after %s by others, whose rows the end of the list would not bring back',
    async (sql) => {
      const made = await database();
      const nights = await nightsIn(made, 'append');
      await nights.run({ list: leads(100), limit: 10 });
      await made.query(sql);
      const { scope, warnings } = await nights.run({ list: leads(101), limit: 10 });
      expect({ scope, codes: warnings.map(({ code }) => code) }).toEqual({
        scope: undefined,
        codes: expect.arrayContaining(['W_SOURCE_SINCE']),
      });
      expect(await nights.ids()).toHaveLength(101);
    },
  );
});
