import { createHash } from 'node:crypto';
import { appendFile, chmod, mkdir, readdir, readFile, readlink, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { LinkAction, RenameAction } from '../../../src/store/index.js';
import { recoverRuns, runPipeline } from '../../../src/run/index.js';
import { cli } from '../../support/cli.js';
import { headerOf } from '../../../src/source/spool/page-log.js';
import { pagesIn } from '../../support/spool.js';
import { leads, pipelineFor, serviceOf, type LoggedService } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

type LocalAction = LinkAction | RenameAction;

const evidence = (text: string) => ({ bytes: text.length, sha256: createHash('sha256').update(text).digest('hex') });
const outputs = 'from: leads\nto:\n  - parquet: { path: lake/t }\n  - csv: { path: out/u.csv }';

/** A place where a run could be, and a folder that is none of its business. */
async function place(): Promise<{ readonly base: string; readonly victim: string }> {
  const [base, victim] = [await temporaryFolder(), await temporaryFolder()];
  await mkdir(join(base, '.leadstream/redo-log'), { recursive: true });
  for (const name of ['out', 'lake/.t.runs/run-1']) await mkdir(join(base, name), { recursive: true });
  await writeFile(join(victim, 'a'), 'mine');
  await writeFile(join(victim, 'b'), 'also mine');
  await chmod(victim, 0o755);
  return { base, victim };
}

/** What no run may change: names, contents and mode of a folder. */
async function contentsOf(folder: string): Promise<unknown> {
  const names = (await readdir(folder, { recursive: true })).sort();
  const files = names.map(async (name) => {
    const path = join(folder, name);
    return [name, (await stat(path)).isFile() ? await readFile(path, 'utf8') : 'no file'];
  });
  return [((await stat(folder)).mode & 0o777).toString(8), ...(await Promise.all(files))];
}

describe('a planted commit', () => {
  const logged = { version: 4, store: 'local-disk', runId: 'run-1', pipeline: 'p', loggedAt: '2026-01-01T00:00:00.000Z' };
  type Planted = (base: string, victim: string) => { readonly outputs: readonly string[]; readonly actions: readonly LocalAction[] };
  const planted: readonly (readonly [what: string, plant: Planted])[] = [
    [
      'renames a file that is not beside the output',
      (_, victim) => ({
        outputs: [join(victim, 'b')],
        actions: [{ action: 'rename', from: join(victim, 'a'), to: join(victim, 'b'), file: evidence('mine') }],
      }),
    ],
    [
      'climbs out of the runs of a table',
      (base, victim) => ({
        outputs: [join(base, 'lake/t')],
        actions: [
          {
            action: 'rename',
            from: `${base}/lake/.t.runs/../../../${victim.split('/').pop() ?? ''}/a`,
            to: join(base, 'lake/.t.runs/run-1/a'),
          },
        ],
      }),
    ],
    [
      'makes a table of another folder',
      (base, victim) => ({
        outputs: [join(base, 'lake/t')],
        actions: [{ action: 'link', at: join(base, 'lake/t'), to: victim, draft: join(base, 'lake/.t.runs/run-1.link') }],
      }),
    ],
  ];

  test.each(planted)('that %s is refused, and nothing is touched', async (_what, plant) => {
    const { base, victim } = await place();
    const before = await contentsOf(victim);
    await writeFile(join(base, 'out/.u.csv.run-1.partial'), 'planted');
    const path = join(base, '.leadstream/redo-log/run-1.commit.json');
    const commit = { ...logged, ...plant(base, victim) };
    await writeFile(path, JSON.stringify(commit));
    const { code, stderr } = await cli(['run', '--recover'], { cwd: base });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/E_STATE_FOREIGN: .*run-1\.commit\.json would (rename|link) .* to /),
    });
    expect(await contentsOf(victim)).toEqual(before);
    expect(await readdir(join(base, 'out'))).toEqual(['.u.csv.run-1.partial']);
    expect(await readdir(join(base, 'lake'))).toEqual(['.t.runs']);
    expect(await readdir(dirname(path))).toEqual(['run-1.commit.json']);
  });

  test('goes through no link at a folder of a table', async () => {
    const name = '.t.runs/run-1';
    const { base, victim } = await place();
    await rm(join(base, 'lake/.t.runs'), { recursive: true });
    await mkdir(dirname(join(base, 'lake', name)), { recursive: true });
    await symlink(victim, join(base, 'lake', name));
    const before = await contentsOf(victim);
    const actions = [{ action: 'rename', from: join(base, 'lake', name, 'a'), to: join(base, 'lake', name, 'c'), file: evidence('mine') }];
    const commit = { ...logged, outputs: [join(base, 'lake/t')], actions };
    await writeFile(join(base, '.leadstream/redo-log/run-1.commit.json'), JSON.stringify(commit));
    await expect(recoverRuns(join(base, '.leadstream'))).rejects.toMatchObject({
      code: 'E_SINK_FOREIGN',
      message: expect.stringContaining(`${base}/lake/${name} is a link where leadstream keeps a folder of its own`),
    });
    expect(await contentsOf(victim)).toEqual(before);
  });

  test('removes no spooled pages but those of the state folder', async () => {
    const { base, victim } = await place();
    const source = `leads-${'0'.repeat(32)}`;
    for (const folder of [join(victim, source), join(base, '.leadstream/spool', source)]) {
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, 'pages.log'), '');
    }
    const before = await contentsOf(victim);
    const commit = { ...logged, outputs: [], actions: [], spent: [join(victim, source)] };
    await writeFile(join(base, '.leadstream/redo-log/run-1.commit.json'), JSON.stringify(commit));
    expect(await recoverRuns(join(base, '.leadstream'))).toEqual(['p']);
    expect(await contentsOf(victim)).toEqual(before);
    expect(await readdir(join(base, '.leadstream/spool'))).toEqual([]);
  });
});

describe('a run', () => {
  const start = async (from: LoggedService, base: string, body = outputs) => runPipeline(await pipelineFor(from, body, base));
  const some = () => serviceOf({ leads: leads(3, (index) => ({ lead_status: index % 2 === 0 ? 'sold' : 'open' })) });

  test.each(['.leadstream/redo-log', 'lake/.t.runs'])(
    'refuses a link at %s before any request, and leaves what it leads to',
    async (name) => {
      const [{ base, victim }, from] = [await place(), await some()];
      await rm(join(base, name), { recursive: true, force: true });
      await symlink(victim, join(base, name));
      const before = await contentsOf(victim);
      await expect(start(from, base)).rejects.toMatchObject({
        code: expect.stringMatching(/^E_(STATE|SINK)_FOREIGN$/),
        message: expect.stringMatching(new RegExp(`^(to\\[0\\] parquet: )?${base}/${name} is a link`)),
      });
      expect(from.requests).toEqual([]);
      expect(await contentsOf(victim)).toEqual(before);
    },
  );

  test('requests a spooled page again that is another answer', async () => {
    const [{ base }, from] = [await place(), await serviceOf({ leads: leads(1_000) })];
    const stop = new AbortController();
    const pipeline = await pipelineFor(from, 'from: leads\nto: [{ ndjson: { path: out/u } }]', base);
    let read = 0;
    const page = () => void ((read += 1) > 3 && stop.abort());
    await expect(runPipeline(pipeline, { signal: stop.signal, watch: { page } })).rejects.toThrow();
    const spools = join(base, '.leadstream/spool');
    const [source = ''] = (await readdir(spools)).filter((name) => name.startsWith('leads-'));
    const log = join(spools, source, 'pages.log');
    const pages = await pagesIn(log);
    expect(pages.length).toBeGreaterThan(1);
    const bytes = Buffer.from('{"not":"a list"}');
    const first = Math.min(...pages);
    await appendFile(log, Buffer.concat([headerOf(first, bytes), bytes]));
    const report = await runPipeline(pipeline);
    expect(report).toMatchObject({ read: 1_000, resumed: pages.length });
    expect(report.warnings.map(({ code }) => code)).not.toContain('W_SPOOL_STALE');
  });

  test.each([
    ['takes nothing over', 'mode: append', 'data/', { code: 'E_SINK_FOREIGN' }],
    ['removes nothing', 'keep: 0', 'data/', undefined],
    ['expires and removes nothing', 'keep: 0', '', undefined],
  ])('%s through a link in the place of a partition, with %s, in .t.runs/%s', async (_what, more, below, refusal) => {
    const [{ base, victim }, from] = [await place(), await some()];
    const table = `from: leads\nto: [{ parquet: { path: lake/t, ${more}, partition_by: [lead_status] } }]`;
    await start(from, base, table);
    const published = await readlink(join(base, 'lake/t'));
    const run = join(base, 'lake/.t.runs', below, basename(published));
    const [partition, theirs] = [join(run, 'lead_status=open'), join(victim, 'lead_status=open')];
    await rename(partition, theirs);
    await symlink(theirs, partition);
    const before = await contentsOf(victim);
    const failure: unknown = await start(from, base, table).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    const message = `${partition} is a link where leadstream keeps a folder of its own`;
    expect(failure).toEqual(refusal && expect.objectContaining({ ...refusal, message: expect.stringContaining(message) }));
    expect(await contentsOf(victim)).toEqual(before);
    expect((await readlink(join(base, 'lake/t'))) === published).toBe(refusal !== undefined);
  });

  test('removes nothing in a folder that is linked as a run', async () => {
    const [{ base, victim }, from] = [await place(), await some()];
    await writeFile(join(victim, 'part-00000-run-0.parquet'), 'mine');
    await rm(join(victim, 'a'));
    await rm(join(victim, 'b'));
    await symlink(victim, join(base, 'lake/.t.runs/run-0'));
    const before = await contentsOf(victim);
    await start(from, base);
    expect(await contentsOf(victim)).toEqual(before);
  });
});
