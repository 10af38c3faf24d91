import { appendFile, cp, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cli } from '../../support/cli.js';
import { duckdb } from '../../support/duckdb.js';
import { pipelineText, service, serviceOf, workplace } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

/** A folder with a table of users that was published twice. */
async function lake(): Promise<{ cwd: string; url: string; runs: readonly string[] }> {
  const [cwd, from] = [await temporaryFolder(), await service()];
  for (const night of ['1', '2']) {
    const body = `from: users\nsteps:\n  - derive: { night: "'${night}'" }\nto:\n  - parquet: { path: lake/users }`;
    await writeFile(join(cwd, 'p.yaml'), pipelineText(body));
    expect(await cli(['run', 'p.yaml'], { cwd, env: from.env })).toMatchObject({ code: 0 });
  }
  return { cwd, url: from.url, runs: await runsIn(cwd) };
}

/** Folders of runs, the oldest first. */
async function runsIn(cwd: string): Promise<readonly string[]> {
  return (await readdir(join(cwd, 'lake/.users.runs/data'))).sort();
}

describe('verify', () => {
  test('exits with 0 when a table matches its manifest, and with 65 and every difference otherwise', async () => {
    const { cwd } = await lake();
    const matching = await cli(['verify', 'lake/users'], { cwd });
    expect(matching.code).toBe(0);
    expect(matching.stderr).toMatch(
      /^lake\/users: run \S+ matches its manifest: [\d,]+ rows, 1 file, [\d,]+ bytes; the manifest is the one that the run wrote \(SHA-256\)\n$/,
    );
    const [part = ''] = (await readdir(join(cwd, 'lake/users'))).filter((name) => name.endsWith('.parquet'));
    await appendFile(join(cwd, 'lake/users', part), 'x');
    await writeFile(join(cwd, 'lake/users/more.parquet'), '');
    const { code, stderr } = await cli(['verify', 'lake/users'], { cwd });
    expect(code).toBe(65);
    for (const said of ['E_GATE_VERIFY', `lake/users: ${part} has `, 'lake/users: more.parquet exists, but is not in the manifest'])
      expect(stderr).toContain(said);
  });

  test('takes a copy of the folder with its manifest', async () => {
    const { cwd, runs } = await lake();
    await cp(join(cwd, 'lake/users'), join(cwd, 'copy'), { recursive: true, dereference: true });
    await cp(join(cwd, `lake/.users.runs/_leadstream/runs/${runs[1]}.json`), join(cwd, 'copy.json'));
    const { code, stderr } = await cli(['verify', 'copy', '--manifest', 'copy.json'], { cwd });
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('the manifest could not be checked') });
    const refused = await cli(['verify', 'copy'], { cwd });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('for a copy of a table, name its manifest (--manifest)') });
    expect(await cli(['verify', 'gs://bucket/t'], { cwd })).toMatchObject({ code: 2 });
  });
});

test('runs lists what is there, the newest first, and gives whole manifests as JSON', async () => {
  const { cwd, url, runs } = await lake();
  const listed = await cli(['runs', 'lake/users'], { cwd });
  const [titles, ...lines] = listed.stdout.trimEnd().split('\n');
  expect([listed.code, titles]).toEqual([
    0,
    expect.stringMatching(/^run +state +finished +mode +rows +written +files +bytes +consistency$/),
  ]);
  expect(lines.map((line) => line.split(/ +/).slice(0, 2))).toEqual([
    [runs[1], 'published'],
    [runs[0], 'kept'],
  ]);
  const { stdout } = await cli(['runs', 'lake/users', '--json'], { cwd });
  const found = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly manifest: object });
  expect(found).toMatchObject([
    { run: runs[1], state: 'published', manifest: { collection: 'users', mode: 'replace', service: url } },
    { run: runs[0], state: 'kept', manifest: { run_id: runs[0] } },
  ]);
  const section = /\n## Manifests of tables\n[^]*?\n## /.exec(await readFile('pipelines/REFERENCE.md', 'utf8'))?.[0];
  const names = found.flatMap(({ manifest, ...run }) => Object.keys({ manifest, ...run, ...manifest }));
  expect(names.filter((name) => !section?.includes(`\`${name}\``))).toEqual([]);
});

test('verify without the log of runs warns that the manifest was compared with nothing, and fails where the state folder was named', async () => {
  const { cwd } = await lake();
  const missing = 'no log of runs in elsewhere has run';
  const named = await cli(['verify', 'lake/users', '--state-dir', 'elsewhere'], { cwd });
  expect(named).toMatchObject({ code: 1, stderr: expect.stringMatching(new RegExp(`^leadstream: E_STATE_LOG: lake/users: ${missing}`)) });
  expect(await cli(['verify', 'lake/users'], { cwd })).toMatchObject({ code: 0, stderr: expect.not.stringContaining('W_STATE_LOG') });
  await rename(join(cwd, '.leadstream'), join(cwd, 'moved'));
  const { code, stderr } = await cli(['verify', 'lake/users'], { cwd });
  expect(code).toBe(0);
  expect(stderr).toMatch(/^W_STATE_LOG: lake\/users: no log of runs in \.leadstream has run .*\n.* matches its manifest/);
});

test('rollback publishes the run before again, and verify agrees', async () => {
  const { cwd, runs } = await lake();
  const { code, stderr } = await cli(['rollback', 'lake/users', '--to', runs[0] ?? ''], { cwd });
  expect({ code, stderr }).toEqual({ code: 0, stderr: `lake/users: run ${runs[0]} is published again; run ${runs[1]} is kept\n` });
  expect(await cli(['verify', 'lake/users'], { cwd })).toMatchObject({ code: 0 });
  expect((await cli(['runs', 'lake/users'], { cwd })).stdout).toMatch(new RegExp(`${runs[0]} +published`));
});

test('compact makes one file of those of all nights, and says when there is nothing to do', async () => {
  const cwd = await workplace('from: leads\nexpect: { max_read_shrink: 100% }\nto:\n  - parquet: { path: lake/leads, mode: append }');
  const night = async (id: string) => {
    const { env } = await serviceOf({ leads: [{ lead_id: id }] });
    expect(await cli(['run', 'p.yaml'], { cwd, env })).toMatchObject({ code: 0 });
  };
  for (const id of ['1', '2', '3']) await night(id);
  expect(await cli(['compact', 'lake/leads'], { cwd })).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringMatching(/^lake\/leads: run \S+ has large files for small ones\n$/),
  });
  expect((await cli(['files', 'lake/leads'], { cwd })).stdout.trim().split('\n')).toHaveLength(1);
  const again = await cli(['compact', 'lake/leads'], { cwd });
  expect(again).toMatchObject({ code: 0, stderr: 'lake/leads: no partition has several small files\n' });
  const elsewhere = await cli(['compact', 'lake/leads', '--state-dir', 'other'], { cwd });
  expect(elsewhere).toMatchObject({ code: 1, stderr: expect.stringContaining('E_STATE_LOG') });
  expect((await cli(['runs', 'lake/leads'], { cwd })).stdout).toMatch(/published .* compact +3 +1 +1 /);
  expect(await cli(['verify', 'lake/leads'], { cwd })).toMatchObject({ code: 0 });
  await night('4');
  expect(await duckdb(`SELECT lead_id FROM '${cwd}/lake/leads/*.parquet' ORDER BY 1`)).toHaveLength(4);
  expect(await cli(['compact', 'lake'], { cwd })).toMatchObject({ code: 1, stderr: expect.stringContaining('E_SINK_FOREIGN') });
});

const verbs = ['files', 'runs', 'verify', 'compact', 'rollback'];

test('a pipeline file stands for its only table, and for those that it publishes together when they go back', async () => {
  const { cwd, runs } = await lake();
  const { env } = await service();
  for (const verb of verbs) {
    const [found, named] = [await cli([verb, 'p.yaml'], { cwd, env }), await cli(['files', 'lake/users'], { cwd })];
    expect(found).toMatchObject({ code: 0, stdout: verb === 'files' ? named.stdout : expect.anything() });
  }
  expect((await cli(['runs', 'p.yaml'], { cwd, env })).stdout).toMatch(new RegExp(`${runs[0]} +published`));
  const both = (more: string) => pipelineText(`${more}from: users\nto:\n  - parquet: { path: night/a }\n  - parquet: { path: night/b }`);
  await writeFile(join(cwd, 'p.yaml'), both(''));
  for (const verb of verbs)
    expect(await cli([verb, 'p.yaml'], { cwd, env })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/one table; name it: .*night\/a, .*night\/b/),
    });
  await writeFile(join(cwd, 'p.yaml'), both('publish: together\n'));
  for (const from of [await serviceOf({ users: [{ uid: '1' }] }), await serviceOf({ users: [{ uid: '2' }] })])
    expect(await cli(['run', 'p.yaml'], { cwd, env: from.env })).toMatchObject({ code: 0 });
  expect(await cli(['rollback', 'p.yaml'], { cwd, env })).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('is published again'),
  });
  await writeFile(join(cwd, 'p.yaml'), pipelineText('from: users\nto:\n  - csv: { path: x.csv }'));
  expect(await cli(['runs', 'p.yaml'], { cwd, env })).toMatchObject({ code: 2, stderr: expect.stringContaining('name it: none') });
});

test('files prints a query with the columns of all runs, and the types of those in folders', async () => {
  const nights = [
    { lead_id: '1', zipcode: '01234' },
    { lead_id: '2', zipcode: "it's", late: 'x' },
  ];
  const sink = '{ path: lake/leads, mode: append, partition_by: [zipcode] }';
  const cwd = await workplace(`from: leads\nexpect: { max_read_shrink: 100% }\nto:\n  - parquet: ${sink}`);
  for (const lead of nights) {
    const { env } = await serviceOf({ leads: [lead] });
    expect(await cli(['run', 'p.yaml'], { cwd, env })).toMatchObject({ code: 0 });
  }
  const { stdout } = await cli(['files', 'lake/leads', '--for', 'duckdb'], { cwd });
  expect(await duckdb(`SELECT lead_id, zipcode, late FROM (${stdout}) ORDER BY lead_id`)).toEqual([
    { lead_id: '1', zipcode: '01234', late: null },
    { lead_id: '2', zipcode: "it's", late: 'x' },
  ]);
  const polars = (await cli(['files', 'lake/leads', '--for', 'polars'], { cwd })).stdout;
  // Polars takes the columns of the first file.
  expect(polars).toMatch(/^polars\.scan_parquet\(\["[^"]*zipcode=it%27s[^"]*",.*hive_schema=\{"zipcode": polars\.String\}\)\n$/);
  expect((await cli(['files', 'lake/leads'], { cwd })).stdout.trim().split('\n')).toHaveLength(2);
});
