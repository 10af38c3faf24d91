import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parsePipeline } from '../../../src/pipeline/index.js';
import { changing } from '../../support/changing.js';
import { duckdb } from '../../support/duckdb.js';
import { leads, runIn } from '../../support/pipelines.js';
import { pipelineText, service, serviceOf, type LoggedService } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

const late = (count = 250) =>
  leads(count, (index) => ({ ...(index === 120 ? { 'Late Field': 'x' } : {}), ...(index >= 220 ? { later: `y${index}` } : {}) }));
const body = (more = '', to = '  - parquet: { path: t }\n  - csv: { path: c.csv }\n') =>
  `from: leads\non_new_field: restart\n${more}to:\n${to}`;
const restarts = (warnings: readonly { code: string; message: string }[]) =>
  warnings.filter(({ code }) => code === 'W_RUN_RESTARTED').map(({ message }) => message);

/** How often each page was asked for. */
function askedFor({ requests }: LoggedService): Readonly<Record<string, number>> {
  return Object.fromEntries([1, 2, 3].map((page) => [page, requests.filter((url) => url === `leads?page=${page}&limit=100`).length]));
}

describe('on_new_field: restart', () => {
  test('gives fields that come after page 1 their columns in the same run, in every output, from the spooled pages', async () => {
    const [from, folder] = [await serviceOf({ leads: late() }), await temporaryFolder()];
    const report = await runIn(from, body(), folder);
    expect(restarts(report.warnings)).toEqual([
      'leads: "Late Field", "later" first appeared after page 1 and are not declared; the run starts again with the spooled pages',
    ]);
    expect(report).toMatchObject({ read: 250, resumed: 0, findings: { late: [] } });
    expect(report.sinks.map(({ books }) => [books.read, books.written])).toEqual([
      [250, 250],
      [250, 250],
    ]);
    expect(askedFor(from)).toEqual({ 1: 1, 2: 1, 3: 1 });
    const counts = 'count(*)::int as rows, count(late_field)::int as late, count(later)::int as later, max(later) as last';
    const expected = [{ rows: 250, late: 1, later: 30, last: 'y249' }];
    expect(await duckdb(`select ${counts} from '${folder}/t/*.parquet'`)).toEqual(expected);
    expect((await readFile(join(folder, 'c.csv'), 'utf8')).split('\n')[0]).toMatch(/,Late Field,later$/);
  });

  test('leaves the table that the next run with next_run would leave, byte for byte', async () => {
    const [from, folder] = [await serviceOf({ leads: late() }), await temporaryFolder()];
    const table = '  - parquet: { path: t }\n';
    const digestOf = async () => duckdb(`select md5(string_agg(content, '')) as digest from read_blob('${folder}/t/*.parquet')`);
    await runIn(from, body('', table), folder);
    const restarted = await digestOf();
    await runIn(from, body('', table).replace('restart', 'next_run'), folder);
    expect(await digestOf()).toEqual(restarted);
  });

  test('requests all pages once more without a spool, and says so', async () => {
    const [from, folder] = [await serviceOf({ leads: late() }), await temporaryFolder()];
    const { warnings } = await runIn(from, body('spool: off\n'), folder);
    expect(restarts(warnings)[0]).toMatch(/the run starts again and requests all pages again, because spool is off$/);
    expect(askedFor(from)).toEqual({ 1: 2, 2: 2, 3: 2 });
    expect(await duckdb(`select count(later)::int as later from '${folder}/t/*.parquet'`)).toEqual([{ later: 30 }]);
  });

  test('begins no run again that a limit stopped, whose pages depend on who is faster', async () => {
    const [from, folder] = [await serviceOf({ leads: late() }), await temporaryFolder()];
    const limited = (count: number) => body(`steps:\n  - limit: ${count}\n`, `  - parquet: { path: t${count} }\n`);
    const { warnings, partial } = await runIn(from, limited(150), folder);
    expect([partial, restarts(warnings)]).toEqual([true, []]);
    const whole = await runIn(from, limited(251), folder);
    expect(whole.partial).toBe(false);
    expect(restarts(whole.warnings)[0]).toMatch(
      /starts again and requests all pages again, because a run that steps\[0\] limit may stop does not spool$/,
    );
    expect(await duckdb(`select count(later)::int as later from '${folder}/t251/*.parquet'`)).toEqual([{ later: 30 }]);
  });

  test('keeps the pages of its own that --restart would have thrown away', async () => {
    const [from, folder] = [await serviceOf({ leads: late() }), await temporaryFolder()];
    await runIn(from, body(), folder, { restart: true });
    expect(askedFor(from)).toEqual({ 1: 1, 2: 1, 3: 1 });
  });

  test.each([
    ['steps leave the fields out', 'steps:\n  - select: [lead_id]\n', undefined],
    ['no output has them', '', '  - csv: { path: c.csv, columns: [lead_id] }\n'],
  ])('does not begin again where %s', async (_what, more, to) => {
    const [from, folder] = [await serviceOf({ leads: late() }), await temporaryFolder()];
    expect(restarts((await runIn(from, body(more, to), folder)).warnings)).toEqual([]);
  });

  test('does not begin again for what page 1 or an earlier run had', async () => {
    const [from, folder] = [await serviceOf({ leads: late() }), await temporaryFolder()];
    const table = body('', '  - parquet: { path: t }\n');
    await runIn(from, table, folder);
    expect(restarts((await runIn(from, table, folder)).warnings)).toEqual([]);
  });

  test('does not begin again for fields of page 1 where a step keeps every row from the outputs', async () => {
    const rows = leads(250, () => ({ early: 'x' }));
    const [from, folder] = [await serviceOf({ leads: rows }), await temporaryFolder()];
    const none = 'steps:\n  - filter: lead_id == "none"\n  - sort: { by: [lead_id] }\n';
    expect(restarts((await runIn(from, body(none), folder)).warnings)).toEqual([]);
  });

  test('begins again once: what comes while it does is left for the next run', async () => {
    const lists = { leads: late() };
    const [from, folder] = [await service(changing(lists)), await temporaryFolder()];
    const report = await runIn(from, body('spool: off\nconsistency: off\n'), folder, {
      watch: {
        warning: ({ code }) => {
          if (code === 'W_RUN_RESTARTED') lists.leads = late().map((row, index) => (index === 130 ? { ...row, newest: 'z' } : row));
        },
      },
    });
    expect(restarts(report.warnings)).toHaveLength(1);
    expect(report.findings.late).toEqual(['newest']);
  });

  test('tells a list that was interrupted before from its own pages', async () => {
    const [from, folder] = [await serviceOf({ leads: late() }), await temporaryFolder()];
    const stateDir = join(folder, 'state');
    const killed = new AbortController();
    const watch = { warning: ({ code }: { code: string }) => void (code === 'W_RUN_RESTARTED' && killed.abort()) };
    await expect(runIn(from, body(), folder, { stateDir, signal: killed.signal, watch })).rejects.toThrow('stopped');
    const report = await runIn(from, body(), folder, { stateDir });
    expect(report.resumed).toBe(3);
    expect(askedFor(from)).toEqual({ 1: 1, 2: 1, 3: 1 });
  });
});

describe('on_new_field: restart is refused before any request', () => {
  const env = { LEADSTREAM_BASE_URL: 'https://data.example', LEADSTREAM_REST_API_KEY: 'key-of-the-test' };

  test.each([
    ['with a sink that prints', body('', '  - csv: { path: c.csv }\n  - stdout: {}\n'), 'p.yaml:8:15 a run that prints cannot start again'],
    ['misspelt', body().replace('restart', 'restrat'), 'p.yaml:8:15 on_new_field: Invalid option'],
  ])('%s', async (_what, text, message) => {
    await expect(parsePipeline(pipelineText(text), 'p.yaml', { env })).rejects.toThrow(message);
  });
});
