import { readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { generate } from '../../src/service/index.js';
import { cli, startCli } from '../support/cli.js';
import { pipelineText, service } from '../support/services.js';
import { temporaryFolder } from '../support/temporary.js';
import { until } from '../support/until.js';

/** What is published; nothing before the first run that came to its end. */
async function published(cwd: string): Promise<readonly Buffer[]> {
  const table = await realpath(join(cwd, 'lake', 'groups')).catch(() => undefined);
  if (table === undefined) return [];
  return Promise.all((await readdir(table)).toSorted().map((name) => readFile(join(table, name))));
}

test('a run that is killed while it aggregates publishes nothing, and the next one is right and leaves no spilled rows', async () => {
  const count = 20_003;
  const from = await service(generate({ leads: count, bridges: 5, seed: 7 }));
  const step = '  - aggregate: { by: [email, age, lead_id], memory: 32MB, compute: { n: count(), last: max(timestamp) } }';
  const text = pipelineText(`from: leads\nsteps:\n${step}\nto:\n  - parquet: { path: lake/groups }`);
  const [cwd, undisturbed] = [await temporaryFolder(), await temporaryFolder()];
  for (const folder of [cwd, undisturbed]) await writeFile(join(folder, 'p.yaml'), text);
  const parameters = ['run', 'p.yaml', '--set', 'service.limit=500'];
  expect(await cli(parameters, { cwd: undisturbed, env: from.env })).toMatchObject({ code: 0 });

  const spilled = () => readdir(join(cwd, '.leadstream', 'scratch')).catch(() => []);
  let spills = 0;
  const all = Math.ceil(count / 500);
  for (const [requests, ms] of [
    [0.5 * all, 0],
    [0.9 * all, 0],
    [all, 0],
    [all, 200],
  ] as const) {
    from.requests.length = 0;
    const { process: child, finished } = startCli([...parameters, '--restart'], { cwd, env: from.env });
    await until(() => child.exitCode !== null || from.requests.length >= requests);
    await setTimeout(ms);
    child.kill('SIGKILL');
    await finished;
    if (child.exitCode !== null) throw new Error('the run ended before it was killed');
    expect(await published(cwd)).toEqual([]);
    spills += (await spilled()).length;
  }
  expect(spills).toBeGreaterThan(1);
  expect(await cli(parameters, { cwd, env: from.env })).toMatchObject({ code: 0 });
  expect(await spilled()).toEqual([]);
  const contents = await published(cwd);
  expect(contents.length).toBeGreaterThan(0);
  expect(contents).toEqual(await published(undisturbed));
});
