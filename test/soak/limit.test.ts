import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { changing, type Lists } from '../support/changing.js';
import { leads, pipelineText, service } from '../support/services.js';
import { startCli } from '../support/cli.js';
import { duckdb } from '../support/duckdb.js';
import { killedBefore } from '../support/killed.js';
import { temporaryFolder } from '../support/temporary.js';

test('a run that a limit stopped, killed at any moment of its commit, leaves a whole table or a part, and the memory of the last whole run', async () => {
  const whole = 'from: leads\nto:\n  - parquet: { path: t }\n';
  const part = 'from: leads\nsteps:\n  - limit: 25\nto:\n  - parquet: { path: t }\n';
  const tables = new Set<unknown>();
  let ended = false;
  for (let nth = 1; !ended; nth += 1) {
    const lists: Lists = { leads: leads(400) };
    const [from, cwd] = [await service(changing(lists)), await temporaryFolder()];
    await Promise.all([writeFile(join(cwd, 'whole.yaml'), pipelineText(whole)), writeFile(join(cwd, 'part.yaml'), pipelineText(part))]);
    const surroundings = { cwd, env: from.env };
    const run = async (...words: string[]) => (await startCli(['run', ...words], surroundings).finished).code;
    expect(await run('whole.yaml')).toBe(0);
    ended = !(await killedBefore(nth, ['run', 'part.yaml', '--allow-partial'], surroundings));
    const rows = async () => (await duckdb(`select count(*)::int as rows from read_parquet('${join(cwd, 't')}/*.parquet')`))[0]?.rows;
    tables.add(await rows());
    // A list that has become small is told by the last whole read, whatever the killed run had logged.
    lists.leads = leads(150);
    expect(await run('whole.yaml')).toBe(65);
    expect([25, 400]).toContain(await rows());
    lists.leads = leads(390);
    expect(await run('whole.yaml')).toBe(0);
    expect(await rows()).toBe(390);
  }
  expect(tables).toEqual(new Set([400, 25]));
});
