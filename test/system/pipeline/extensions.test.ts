import { existsSync } from 'node:fs';
import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { defineSink, defineStep, loadPipeline, runPipeline, type Extensions, type RunOptions } from '../../../src/index.js';
import { generate } from '../../../src/service/index.js';
import { duckdb } from '../../support/duckdb.js';
import { pipelineText, service, type LoggedService } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

const inYears = defineStep('in_years', {
  version: '1',
  options: z.strictObject({ after: z.number().default(0) }),
  needs: ['age'],
  adds: { years: 'integer' },
  rows: 'fewer',
  open:
    ({ after }) =>
    (row) => {
      const years = BigInt(String(row.age));
      return years < after ? null : { ...row, years };
    },
});

/** Writes lines beside its file, which appears with the commit. */
const lines = defineSink('lines', {
  options: z.strictObject({ path: z.string() }),
  async open({ path }, { baseDir }) {
    const file = join(baseDir, path);
    await writeFile(`${file}.part`, '');
    return {
      write: (rows) => appendFile(`${file}.part`, rows.map((row) => `${row.lead_id}\n`).join('')),
      commit: async ({ rows, partial }) =>
        writeFile(file, `${rows} rows${partial ? ', partial' : ''}\n${await readFile(`${file}.part`, 'utf8')}`),
      abort: () => rm(`${file}.part`),
    };
  },
});

const own: Extensions = { steps: [inYears], sinks: [lines] };

const chain = (options = '{}', more = '') => `from: leads
on_error: fail
steps:
  - in_years: ${options}
to:
  - lines: { path: lines.txt }
  - csv: { path: leads.csv }
${more}`;

async function prepared(from: LoggedService, body: string, extensions = own, baseDir?: string, limit = '100') {
  const folder = baseDir ?? (await temporaryFolder());
  const set = { 'service.retry.base': '1ms', 'service.limit': limit };
  const pipeline = await loadPipeline({ text: pipelineText(body), file: 'p.yaml' }, { env: from.env, baseDir: folder, set, ...extensions });
  const run = (options: RunOptions = {}) => runPipeline(pipeline, { stateDir: join(folder, 'state'), ...options });
  return { folder, pipeline, run };
}

/** A service with few leads. */
const some = (leads = 300) => service(generate({ leads, bridges: 5, seed: 7 }));
const failureOf = (work: Promise<unknown>): Promise<unknown> => work.catch((failure: unknown) => failure);
const spelled = (folder: string) => readFile(join(folder, 'lines.txt'), 'utf8');

describe('steps and sinks of a program in a file', () => {
  test('run beside those of leadstream, and every row is accounted for', async () => {
    const { folder, run } = await prepared(await some(), chain('{ after: 60 }'));
    const report = await run();
    const [[found]] = [await duckdb(`SELECT count(*)::INTEGER AS n, min(years)::INTEGER AS least FROM '${join(folder, 'leads.csv')}'`)];
    const written = Number(found?.n);
    expect(found).toMatchObject({ least: expect.any(Number) });
    expect(Number(found?.least)).toBeGreaterThanOrEqual(60);
    expect(written).toBeGreaterThan(0);
    const [head, ...ids] = (await spelled(folder)).trim().split('\n');
    expect([head, ids.length]).toEqual([`${written} rows`, written]);
    expect(report.sinks.map(({ at, books }) => [at, books.written, books.filtered])).toEqual([
      ['to[0] lines', written, 300 - written],
      ['to[1] csv', written, 300 - written],
    ]);
    expect(report.consistency.mode).toBe('repair');
  });

  test('have their names and versions in the fingerprint, and options', async () => {
    const from = await some();
    const fingerprint = async (version: string | undefined, options = '{}') => {
      const step = defineStep('in_years', { version, options: z.object({ after: z.number().optional() }), open: () => (row) => row });
      return (await prepared(from, chain(options), { steps: [step], sinks: [lines] })).pipeline.fingerprint;
    };
    const [first, again, newer, none, other] = [
      await fingerprint('1'),
      await fingerprint('1'),
      await fingerprint('2'),
      await fingerprint(undefined),
      await fingerprint('1', '{ after: 1 }'),
    ];
    expect(again).toBe(first);
    expect(new Set([first, newer, none, other]).size).toBe(4);
  });
});

describe('a sink of a program in a file', () => {
  test.each(['write', 'commit'] as const)('that fails in %s leaves nothing published, and is aborted once', async (which) => {
    const calls: string[] = [];
    const broken = defineSink('lines', {
      options: z.strictObject({ path: z.string() }),
      open: () => ({
        write: () => (which === 'write' ? Promise.reject(new TypeError('jane@example.com')) : undefined),
        commit: () => Promise.reject(new TypeError('jane@example.com')),
        abort: () => void calls.push('abort'),
      }),
    });
    const { folder, run } = await prepared(await some(), chain(), { steps: [inYears], sinks: [broken] });
    const failure = await failureOf(run());
    expect(failure).toMatchObject({ code: 'E_SINK_FUNCTION', exit: 1 });
    expect(String(failure)).toMatch(/to\[0\] lines: (write on page \d+|commit) failed with TypeError \(at /);
    expect(String(failure)).not.toContain('jane');
    expect(calls).toEqual(['abort']);
    expect(existsSync(join(folder, 'leads.csv'))).toBe(false);
  });

  test('is not committed when a gate refuses, nor when another sink fails', async () => {
    for (const more of ['expect: { min_rows: 5000 }\n', 'expect: { unique: [lead_status] }\n']) {
      const { folder, run } = await prepared(await some(), chain('{}', more));
      expect(await failureOf(run())).toMatchObject({ code: 'E_GATE_EXPECT' });
      expect(existsSync(join(folder, 'lines.txt')) || existsSync(join(folder, 'lines.txt.part'))).toBe(false);
    }
  });

  test('that had published before another one failed is named', async () => {
    const broken = defineSink('broken', {
      open: () => ({ write: () => {}, commit: () => Promise.reject(new TypeError('no')), abort: () => {} }),
    });
    const body = `from: leads\nto:\n  - lines: { path: lines.txt }\n  - broken: {}\n  - csv: { path: leads.csv }\n`;
    const { folder, run } = await prepared(await some(), body, { sinks: [lines, broken] });
    const failure = await failureOf(run());
    expect(failure).toMatchObject({ code: 'E_SINK_FUNCTION' });
    expect(String(failure)).toMatch(
      /to\[1\] broken: commit failed .*; to\[0\] lines had already published, and will receive all rows again$/,
    );
    expect([existsSync(join(folder, 'lines.txt')), existsSync(join(folder, 'leads.csv'))]).toEqual([true, false]);
  });

  test('gets all rows again after a run that was interrupted, from the pages on disk', async () => {
    const from = await some(900);
    const unchecked = chain().replace('on_error: fail\n', 'on_error: fail\nconsistency: off\n');
    const { folder, pipeline, run } = await prepared(from, unchecked, own, undefined, '30');
    const controller = new AbortController();
    const stop = { page: ({ number }: { number: number }) => (number === 12 ? controller.abort() : undefined) };
    expect(await failureOf(run({ signal: controller.signal, watch: stop }))).toMatchObject({ code: 'E_RUN_ABORTED' });
    expect(existsSync(join(folder, 'lines.txt.part'))).toBe(false);
    const before = from.requests.length;
    const report = await runPipeline(pipeline, { stateDir: join(folder, 'state') });
    expect(report.resumed).toBeGreaterThan(0);
    expect(from.requests.length - before).toBeLessThan(report.pages - report.resumed + 4);
    expect((await spelled(folder)).trim().split('\n')).toHaveLength(1 + 900);
  });

  test('alone is a run that publishes: it is checked, spooled and counted, and one at a time', async () => {
    const body = 'from: leads\nexpect: { max_shrink: 10% }\nto:\n  - lines: { path: lines.txt }\n';
    const { pipeline, folder, run } = await prepared(await some(), body);
    const inside: unknown[] = [];
    const report = await run({
      watch: { page: () => void inside.push(failureOf(runPipeline(pipeline, { stateDir: join(folder, 'state') }))) },
    });
    expect(await inside[0]).toMatchObject({ code: 'E_RUN_LOCKED' });
    expect(report.consistency.mode).toBe('repair');
    expect(await spelled(folder)).toMatch(/^300 rows\n/);
    const smaller = await prepared(await some(200), body, own, folder);
    expect(await failureOf(smaller.run({ allowShrink: false }))).toMatchObject({ code: expect.stringMatching(/^E_GATE_/) });
  });
});
