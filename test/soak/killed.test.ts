import { createHash } from 'node:crypto';
import { readFile, readdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { generate } from '../../src/service/index.js';
import { pagesIn } from '../support/spool.js';
import { cli, startCli } from '../support/cli.js';
import { pipelineText, service, type LoggedService } from '../support/services.js';
import { folderWith } from '../support/temporary.js';
import { until } from '../support/until.js';

const kills = 100;
const source = generate({ leads: 4_000, bridges: 250, seed: 7 });
const faults = ['delay=8', '503=0@rate=0.04', 'html@rate=0.02', 'cut=chunked@rate=0.02'];

const pipeline = pipelineText(`from: leads
steps:
  - dedupe: {}
  - join: { with: bridges, on: { bridge_id: id }, as: bridge, select: [title] }
to:
  - parquet: { path: lake/leads, row_group_rows: 1500 }
  - csv: { path: lake/leads.csv }`);

const workplace = () => folderWith({ 'p.yaml': pipeline });

const parameters = ['run', 'p.yaml', '--set', 'service.retry.base=1ms', '--set', 'service.retry.cap=5ms'];

/** Digests of what readers find under the final names; `undefined` for what is not there. */
async function published(cwd: string): Promise<{ table: string | undefined; csv: string | undefined }> {
  const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
  const csv = await readFile(join(cwd, 'lake', 'leads.csv')).then(digest, () => undefined);
  const folder = await realpath(join(cwd, 'lake', 'leads')).catch(() => undefined);
  if (folder === undefined) return { table: undefined, csv };
  const parts = (await readdir(folder)).filter((name) => name.endsWith('.parquet')).sort();
  const bytes = await Promise.all(parts.map((name) => readFile(join(folder, name))));
  return { table: digest(Buffer.concat(bytes)), csv };
}

/** The pages that a killed run leaves to the next one, as the request log names them: none once its commit is logged, which has them spent. */
async function keptPages(cwd: string): Promise<readonly string[]> {
  const logged = await readdir(join(cwd, '.leadstream', 'redo-log')).catch(() => []);
  return logged.some((name) => name.endsWith('.commit.json')) ? [] : spooledPages(cwd);
}

async function spooledPages(cwd: string): Promise<readonly string[]> {
  const spools = join(cwd, '.leadstream', 'spool');
  const logs = (await readdir(spools, { recursive: true }).catch(() => [])).filter((name) => name.endsWith('/pages.log'));
  const pages = logs.map(async (log) => {
    const [collection = ''] = log.split('-');
    return (await pagesIn(join(spools, log))).map((page) => `${collection}?page=${page}&limit=100`);
  });
  return (await Promise.all(pages)).flat();
}

let undisturbed: Awaited<ReturnType<typeof published>>;
/** Of an undisturbed run: its requests, and the time that it takes after the last of them. */
let usual: { readonly requests: number; readonly tailMs: number };

beforeAll(async () => {
  const [from, cwd] = [await service(source, { faults }), await workplace()];
  const { finished } = startCli(parameters, { cwd, env: from.env });
  const ended = isOver(finished);
  let [requests, last] = [0, performance.now()];
  await until(() => {
    if (from.requests.length > requests) [requests, last] = [from.requests.length, performance.now()];
    return ended();
  });
  usual = { requests, tailMs: performance.now() - last };
  const { code, stderr } = await finished;
  expect({ code, stderr }).toMatchObject({ code: 0 });
  undisturbed = await published(cwd);
});

/** Kills a run after a part of its requests, or, for the last fifth of the parts, of the time after all of them. */
async function killed(cwd: string, from: LoggedService, part: number): Promise<void> {
  const { process: child, finished } = startCli(parameters, { cwd, env: from.env });
  const ended = isOver(finished);
  const reading = Math.min(1, part / 0.8);
  await until(() => ended() || from.requests.length >= Math.floor(reading * usual.requests));
  // Nothing shows from outside how far a publication is; any moment of it will do.
  if (part > 0.8) await Promise.race([finished, setTimeout((part - 0.8) * 5 * usual.tailMs)]);
  child.kill('SIGKILL');
  await finished;
}

function isOver(finished: Promise<unknown>): () => boolean {
  let over = false;
  void finished.then(() => (over = true));
  return () => over;
}

describe('a run that is killed and run again', () => {
  test.each(Array.from({ length: kills }, (_, index) => (index + 0.5) / kills))(
    'after %f of its work publishes what an undisturbed one does, and asks for no page again that is kept',
    async (part) => {
      const [from, cwd] = [await service(source, { faults, seed: Math.round(part * 1000) }), await workplace()];
      await killed(cwd, from, part);
      const between = await published(cwd);
      expect([undefined, undisturbed.table]).toContain(between.table);
      expect([undefined, undisturbed.csv]).toContain(between.csv);

      const kept = await keptPages(cwd);
      from.requests.length = 0;
      const { code, stderr } = await cli(parameters, { cwd, env: from.env });
      expect({ code, stderr }).toMatchObject({ code: 0 });
      expect(from.requests.filter((request) => kept.includes(request))).toEqual([]);
      expect(await published(cwd)).toEqual(undisturbed);
      expect(await spooledPages(cwd)).toEqual([]);
    },
  );
});
