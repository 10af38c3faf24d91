import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { duckdb } from '../../support/duckdb.js';
import { lead, leads, pipelineFor, runIn, serviceOf } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

/** Around midnight and both changes of the clock in Berlin, 1900, and the first and last years. */
const around = ['2024-03-31T01:00', '2024-10-27T01:00', '2024-06-30T22:00', '2024-12-31T23:00', '1900-01-01T00:00'];
const seconds = around.flatMap((text) => [-5400, -1, 0, 1800, 3600].map((more) => Date.parse(`${text}Z`) / 1000 + more));
const instants = [...seconds, Date.parse('0001-01-02') / 1000, Date.parse('9999-11-30') / 1000];

const berlin = "AT TIME ZONE 'Europe/Berlin'";
const expressions = [
  ...[`(timestamp ${berlin})::DATE`, `(timestamp ${berlin})::VARCHAR`, `strftime(timestamp ${berlin}, '%d.%m.%Y %H:%M')`],
  ...[`date_trunc('day', timestamp ${berlin}) ${berlin}`, `hour(timezone('America/New_York', timestamp))`, `timestamp::DATE`],
  ...[`date_trunc('day', timestamp)`, `time_bucket(INTERVAL 1 HOUR, timestamp)`, `strftime(timestamp, '%Y-%m-%d %H:%M:%S')`],
  ...[`extract(year FROM timestamp)`, `date_part('isodow', timestamp)`, `dayname(timestamp)`, `last_day(timestamp)`, `epoch(timestamp)`],
  ...[`timestamp + INTERVAL 1 MONTH - INTERVAL 36 HOUR`, `date_diff('day', timestamp, TIMESTAMPTZ '2024-10-27 00:00:00+00')`],
  ...[`timestamp > TIMESTAMP '2024-03-31 01:00'`, `timestamp::VARCHAR`, `make_date(year(timestamp), month(timestamp), 1)`],
  ...[`strptime('2024-03-31 02:00 Asia/Tokyo', '%Y-%m-%d %H:%M %Z')`, `timestamp::TIMESTAMP::VARCHAR`, `max(timestamp) OVER ()`],
].map((expression, index) => `${expression} AS c${index}`);

test('sql reads and turns instants as DuckDB does in the Parquet files of the same rows', async () => {
  const from = await serviceOf({ leads: leads(instants.length, (index) => ({ timestamp: String(instants[index]) })) });
  const folder = await temporaryFolder();
  const query = (rows: string) => `SELECT lead_id, ${expressions.join()} FROM ${rows} ORDER BY lead_id::INT`;
  await runIn(from, 'from: leads\nto: [{ parquet: { path: rows } }]', folder);
  await runIn(from, `from: leads\nsteps: [{ sql: "${query('rows')}" }]\nto: [{ parquet: { path: results } }]`, folder);
  const shown = expressions.map((_, index) => `c${index}::VARCHAR AS c${index}`).join();
  const given = await duckdb(`SELECT ${shown} FROM read_parquet('${folder}/results/*.parquet')`);
  expect(given).toEqual(await duckdb(`SELECT ${shown} FROM (${query(`read_parquet('${folder}/rows/*.parquet')`)})`));
  const day = new Intl.DateTimeFormat('sv', { timeZone: 'Europe/Berlin' });
  expect(given.slice(0, 20).map(({ c0 }) => c0)).toEqual(instants.slice(0, 20).map((second) => day.format(second * 1000)));
});

describe('the results of sql', () => {
  const rows = [lead(1, { age: '0', timestamp: '1' }), lead(2, { age: '4', timestamp: '2' }), lead(3, { age: '', timestamp: '3' })];
  const body = (expression: string, more = '') =>
    `from: leads\nrejects: { max: 50% }\nsteps: [{ sql: { query: "SELECT lead_id, ${expression} AS x FROM rows"${more} } }]\nto: [{ csv: { path: x.csv } }]`;

  test.each([
    ['7 / age', /^is not a number that a decimal can hold, as after a division by 0/, '2,1.75\n3,\n'],
    ['(age - 4) / nullif(age - 4, -4)', /^is not a number/, '1,\n3,\n'],
    ['age * 9223372036854775807::HUGEINT', /^is not a 64-bit integer$/, '1,0\n3,\n'],
    ["CASE age WHEN 4 THEN 'infinity'::TIMESTAMPTZ ELSE timestamp END", /^is not an instant or day of the years 1 to 9999$/, '1,'],
    ["CASE age WHEN 4 THEN '-infinity'::DATE ELSE timestamp::DATE END", /^is not an instant or day/, '1,1970-01-01\n'],
    ['timestamp + age * INTERVAL 1 MICROSECOND', /date_trunc\('milliseconds', …\)/, '1,1970-01-01T00:00:01.000Z\n'],
    ['make_timestamp_ns(age)', /date_trunc\('milliseconds', …\)/, '1,1970-01-01T00:00:00.000Z\n'],
  ])('%s: a row whose type cannot hold it is rejected by name, as on_error says', async (expression, reason, left) => {
    const [from, folder] = [await serviceOf({ leads: rows }), await temporaryFolder()];
    const report = await runIn(from, body(expression), folder);
    const rejects = (await readFile(join(folder, 'x.csv.rejects.ndjson'), 'utf8')).trim().split('\n');
    expect(report.rejects.rows).toBe(rejects.length);
    expect(JSON.parse(rejects[0] ?? '')).toMatchObject({ field: 'x', reason: expect.stringMatching(reason) });
    expect(await readFile(join(folder, 'x.csv'), 'utf8')).toContain(`lead_id,x\n${left}`);
    await runIn(from, body(expression, ', on_error: "null"'), folder);
    expect((await readFile(join(folder, 'x.csv'), 'utf8')).split('\n')).toHaveLength(5);
    await expect(runIn(from, body(expression, ', on_error: fail'), folder)).rejects.toMatchObject({
      code: 'E_STEP_VALUE',
      message: expect.stringMatching(/^steps\[0\] sql: x /),
    });
  });

  test('keep what a mask keeps, where the select list is plain, and a pipeline without columns is refused', async () => {
    const from = await serviceOf({ leads: [lead(1, { email: 'p@x.org', source: '7' }), lead(2, { email: 'p@x.org' })] });
    const folder = await temporaryFolder();
    const newest = 'SELECT * FROM rows QUALIFY row_number() OVER (PARTITION BY email ORDER BY lead_id) = 1';
    const masked = (query: string) =>
      `from: leads\nsteps: [{ sql: "${query}" }, { mask: { preset: personal } }]\nto: [{ csv: { path: x.csv } }]`;
    await runIn(from, masked(newest), folder);
    const text = await readFile(join(folder, 'x.csv'), 'utf8');
    expect(text).toMatch(/^lead_id,[^]*,source,[^]*\n1,[^]*,7,/);
    expect(text).not.toContain('p@x.org');
    const none = pipelineFor(from, masked('SELECT lower(email) AS e FROM rows'), folder);
    await expect(none).rejects.toMatchObject({ code: 'E_SPEC_INVALID', message: expect.stringContaining('no column is left') });
  });
});
