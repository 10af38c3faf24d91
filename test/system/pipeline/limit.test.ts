import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { itemAt } from '../../../src/core/index.js';
import { publishedManifest } from '../../support/parquet-files.js';
import { runPipeline, type RunOptions } from '../../../src/run/index.js';
import { changing, type Lists } from '../../support/changing.js';
import { leads, pipelineFor, pipelineText, service, type LoggedService } from '../../support/services.js';
import { cli } from '../../support/cli.js';
import { duckdb } from '../../support/duckdb.js';
import { temporaryFolder } from '../../support/temporary.js';

const toTable = 'to:\n  - parquet: { path: t }\n';
const toCsv = 'to:\n  - csv: { path: leads.csv, columns: [lead_id] }\n';
const limited = (count: number, to = toTable) => `from: leads\nsteps:\n  - limit: ${count}\n${to}`;
const whole = (to = toTable) => `from: leads\n${to}`;
const size = { 'service.limit': '20' };

let lists: Lists;
let from: LoggedService;
let folder: string;

/** A run with the state folder of the test. */
async function run(body: string, options: RunOptions = {}, set: Readonly<Record<string, string>> = {}) {
  const pipeline = await pipelineFor(from, body, folder, { ...size, ...set });
  return runPipeline(pipeline, { stateDir: join(folder, 'state'), ...options });
}

const idsIn = async (table: string) =>
  (await duckdb(`select lead_id::int as id from read_parquet('${join(folder, table)}/*.parquet') order by id`)).map(({ id }) => id);
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

describe('limit', () => {
  beforeEach(async () => {
    lists = { leads: leads(400), bridges: [{ id: '1', title: 'A' }] };
    from = await service(changing(lists));
    folder = await temporaryFolder();
  });

  describe('a limit', () => {
    test('publishes the first rows, reads little more, and says so', async () => {
      const report = await run(limited(25));
      expect(await idsIn('t')).toEqual(upTo(25));
      expect(from.requests.length).toBeLessThan(15);
      const { books } = itemAt(report.sinks, 0);
      expect(books).toMatchObject({ written: 25, beyondLimit: books.read - 25 });
      expect(report).toMatchObject({ partial: true, consistency: { outcome: 'off' } });
      expect(report.warnings).toEqual([
        {
          code: 'W_RUN_PARTIAL',
          message:
            'steps[0] limit stopped the read of leads, so the outputs contain only part of it; later runs are not compared with this one',
        },
      ]);
      expect(await publishedManifest(join(folder, 't'))).toMatchObject({ partial: true, rows: 25, reads: {}, consistency: 'off' });
    });

    test('that the list does not reach leaves the run whole', async () => {
      const report = await run(limited(401));
      expect(report).toMatchObject({ partial: false, read: 400, consistency: { outcome: 'stable' } });
      expect(report.warnings.filter(({ code }) => code === 'W_RUN_PARTIAL')).toEqual([]);
      expect((await publishedManifest(join(folder, 't')))?.partial).toBeUndefined();
    });

    test('does not wait for pages that fail after it has its rows', async () => {
      from = await service(changing(lists), { faults: ['hang@page=4', '404@page=5'] });
      expect((await run(limited(30), {}, { 'service.concurrency': '2' })).partial).toBe(true);
      expect(await idsIn('t')).toEqual(upTo(30));
    });

    test('after a sort reads everything and gives the top rows, which is no part of a read', async () => {
      lists.leads = leads(400, (index) => ({ age: String((index * 7) % 400) }));
      const body = `from: leads\nsteps:\n  - sort: { by: [age desc] }\n  - limit: 10\n${toTable}`;
      const report = await run(body);
      expect(report).toMatchObject({ partial: false, read: 400 });
      expect(itemAt(report.sinks, 0).books).toMatchObject({ written: 10, beyondLimit: 390 });
      expect(await duckdb(`select age::int as age from read_parquet('${join(folder, 't')}/*.parquet') order by age desc`)).toEqual(
        upTo(10).map((index) => ({ age: 399 - index })),
      );
      // It may replace what it likes.
      await run(body);
    });
  });

  describe('pages', () => {
    const paged = (pages: string, to = toTable) => `from: leads\npages: ${pages}\n${to}`;

    test('are all that is read, and such a run says that it is partial', async () => {
      const report = await run(paged('3-5'));
      expect(await idsIn('t')).toEqual(upTo(100).slice(40));
      expect(from.requests).toEqual([1, 3, 4, 5].map((page) => `leads?page=${page}&limit=20`));
      expect(report).toMatchObject({ partial: true, read: 60, resumed: 0, consistency: { outcome: 'off', passes: 0 } });
      expect(report.warnings).toEqual([{ code: 'W_RUN_PARTIAL', message: expect.stringContaining('pages 3-5 stopped the read of leads') }]);
      expect(await publishedManifest(join(folder, 't'))).toMatchObject({ partial: true, rows: 60, reads: {} });
    });

    test('replace no complete output', async () => {
      await run(whole());
      await expect(run(paged('1-2'))).rejects.toMatchObject({ code: 'E_GATE_PARTIAL' });
      expect(await idsIn('t')).toEqual(upTo(400));
    });

    test('beyond the end are refused, and nothing is written', async () => {
      await expect(run(paged('21-30'))).rejects.toMatchObject({
        code: 'E_SOURCE_RANGE',
        message: 'leads: the range begins after 400 rows, and the list has none there',
      });
      await expect(stat(join(folder, 't'))).rejects.toMatchObject({ code: 'ENOENT' });
    });

    test('have the rows at these positions of the list, whatever the page size is, and what follows the end', async () => {
      let count = 0;
      const draws = [fc.integer({ min: 1, max: 12 }), fc.integer({ min: 0, max: 9 }), fc.integer({ min: 3, max: 60 })] as const;
      await fc.assert(
        fc.asyncProperty(...draws, fc.boolean(), async (first, more, pageRows, repeats) => {
          from = await service(changing(lists), { quirks: { 'repeat-last': repeats } });
          const name = `p${(count += 1)}`;
          const [begin, end] = [(first - 1) * pageRows, (first + more) * pageRows];
          const to = `to:\n  - parquet: { path: ${name} }\n`;
          const read = run(paged(`${first}-${first + more}`, to), {}, { 'service.limit': String(pageRows) });
          if (begin >= 400) return expect(read).rejects.toMatchObject({ code: 'E_SOURCE_RANGE' });
          await read;
          return expect(await idsIn(name)).toEqual(upTo(400).slice(begin, end));
        }),
        { numRuns: 12 },
      );
    });
  });

  test('gives the first rows of what the steps before it give, and balances its books, whatever they are', async () => {
    const steps = [
      'filter: int(lead_id) % 3 != 0',
      'dedupe: { by: [uid] }',
      "explode: { field: aff_sub, separator: ',' }",
      "explode: { field: aff_sub, separator: ',', empty: drop }",
      'sample: { percent: 60 }',
      'join: { with: bridges, on: { bridge_id: id }, as: b, select: [title], type: inner }',
    ];
    lists.leads = leads(300, (index) => ({
      uid: String(index % 200),
      aff_sub: ['a,b', '', 'c'][index % 3],
      bridge_id: String(1 + (index % 2)),
    }));
    const to = (path: string) => `to:\n  - ndjson: { path: ${path} }\n`;
    const chain = fc.uniqueArray(fc.constantFrom(...steps), { selector: (step) => step.split(':')[0], maxLength: 4 });
    const linesOf = async (path: string) => (await readFile(join(folder, path), 'utf8')).split('\n').filter((line) => line !== '');
    let count = 0;
    await fc.assert(
      fc.asyncProperty(chain, fc.integer({ min: 1, max: 90 }), fc.integer({ min: 7, max: 60 }), async (before, most, pageRows) => {
        const name = `p${(count += 1)}`;
        const text = before.map((step) => `  - ${step}\n`).join('');
        await run(`from: leads\nsteps:\n${text}  - select: [lead_id, aff_sub]\n${to(`${name}.all`)}`);
        const set = { 'service.limit': String(pageRows) };
        const part = `${text}  - limit: ${most}\n  - select: [lead_id, aff_sub]\n${to(`${name}.part`)}`;
        const report = await run(`from: leads\nsteps:\n${part}`, {}, set);
        const all = await linesOf(`${name}.all`);
        expect(await linesOf(`${name}.part`)).toEqual(all.slice(0, most));
        expect(report.partial).toBe(all.length >= most);
      }),
      { numRuns: 3 },
    );
  });

  describe('what a run that a limit stops leaves to later ones', () => {
    test('is no size of a table, neither one to shrink from nor one to grow from', async () => {
      await run(limited(5));
      await run(whole(`expect: { max_growth: 10% }\n${toTable}`));
      await run(limited(5), { allowPartial: true });
      lists.leads = leads(300);
      await expect(run(whole(`expect: { max_shrink: 10% }\n${toTable}`))).rejects.toMatchObject({
        code: 'E_GATE_EXPECT',
        message: expect.stringContaining('found 300 rows, previously 400'),
      });
      expect(await idsIn('t')).toEqual(upTo(5));
    });

    test('are the pages that an interrupted run has spooled, which it neither uses nor removes', async () => {
      const stop = new AbortController();
      let pages = 0;
      const watch = { page: () => void (++pages === 12 && stop.abort()) };
      await expect(run(whole(), { signal: stop.signal, watch })).rejects.toMatchObject({ code: 'E_RUN_ABORTED' });
      const part = await run(limited(5, 'to:\n  - parquet: { path: part }\n'));
      expect(part.resumed).toBe(0);
      const report = await run(whole());
      expect(report.resumed).toBeGreaterThan(8);
      expect(report.read).toBe(400);
      expect(await idsIn('t')).toEqual(upTo(400));
    });
  });

  describe('an output that exists', () => {
    test('is replaced when it is a table that is a part itself', async () => {
      await run(limited(5));
      await run(limited(7));
      expect(await idsIn('t')).toEqual(upTo(7));
    });

    test('gets rows added to it by append, and stays whole', async () => {
      const appending = 'to:\n  - parquet: { path: t, mode: append }\n';
      await run(whole(appending));
      lists.leads = [{ lead_id: '2000', lead_status: 'new' }, ...leads(400)];
      const report = await run(limited(5, appending));
      expect(itemAt(report.sinks, 0).books).toMatchObject({ written: 1, unchanged: 4 });
      expect((await publishedManifest(join(folder, 't')))?.partial).toBeUndefined();
      await expect(run(limited(5))).rejects.toMatchObject({ code: 'E_GATE_PARTIAL' });
      expect(await idsIn('t')).toEqual([...upTo(400), 2_000]);
    });

    test('is replaced by a part only with --allow-partial, and else nothing is requested', async () => {
      await run(whole(toCsv));
      await writeFile(join(folder, 'p.yaml'), pipelineText(limited(3, toCsv)));
      const text = () => readFile(join(folder, 'leads.csv'), 'utf8');
      const [before, requested] = [await text(), from.requests.length];
      const command = (...flags: string[]) => cli(['run', 'p.yaml', '--quiet', ...flags], { cwd: folder, env: from.env });
      const refusal = /csv exists, and steps\[0\] limit would make the run replace it with partial data.*run once with --allow-partial/;
      expect(await command()).toMatchObject({ code: 65, stderr: expect.stringMatching(refusal) });
      expect([await text(), from.requests.length]).toEqual([before, requested]);
      expect(await command('--allow-partial')).toMatchObject({ code: 0 });
      expect(await text()).toBe('"lead_id"\n"0"\n"1"\n"2"\n');
    });
  });
});
