import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { verifyTable } from '../../src/lake/index.js';
import { publishedManifest } from '../support/parquet-files.js';
import { generate } from '../../src/service/index.js';
import { cli, startCli } from '../support/cli.js';
import { duckdb } from '../support/duckdb.js';
import { pipelineText, service, type LoggedService } from '../support/services.js';
import { folderWith } from '../support/temporary.js';
import { until } from '../support/until.js';

const kills = 50;
const replaces = 12;

/** A table of many small files, so that a publication has many renames. */
const pipeline = pipelineText(`from: leads
consistency: off
to:
  - parquet: { path: lake/leads, partition_by: [campaign_id], row_group_rows: 50, file_max_bytes: 1, keep: 1 }`);

const workplace = () => folderWith({ 'p.yaml': pipeline });

function serviceWith(leads: number): Promise<LoggedService> {
  return service(generate({ leads, bridges: 5, seed: leads }));
}

const run = (cwd: string, from: LoggedService) => cli(['run', 'p.yaml', '--quiet'], { cwd, env: from.env });

describe('readers during replaces', () => {
  test(`see the old or the new count through ${replaces} of them, by the glob and by the manifest`, async () => {
    const [small, large, cwd] = [await serviceWith(1_000), await serviceWith(1_500), await workplace()];
    expect(await run(cwd, small)).toMatchObject({ code: 0 });
    const readers = startReaders(join(cwd, 'lake/leads'));
    for (let round = 1; round <= replaces; round += 1) {
      expect(await run(cwd, round % 2 === 0 ? small : large)).toMatchObject({ code: 0 });
      await readers.readAgain();
    }
    const { counts, notFound, reads } = await readers.stop();
    expect([...counts].sort((one, other) => one - other)).toEqual([1_000, 1_500]);
    expect(notFound).toBeLessThan(reads);
  }, 600_000);
});

/** Reads on and on until it is stopped. A file that vanished between listing and opening is counted; everything else fails. */
function startReaders(table: string) {
  const counts = new Set<number>();
  const reads = { byGlob: 0, byManifest: 0 };
  let [notFound, stopped] = [0, false];

  async function readOn(how: keyof typeof reads, what: () => Promise<string>): Promise<void> {
    while (!stopped) {
      try {
        const [row] = await duckdb(`SELECT count(*)::int AS rows FROM read_parquet(${await what()})`);
        counts.add(Number(row?.['rows']));
        reads[how] += 1;
      } catch (failure) {
        if (!/No such file|not found|No files found|Cannot open file/i.test(String(failure))) throw failure;
        notFound += 1;
      }
    }
  }

  /** All the files that a manifest lists, as a reader who trusts it asks for them. */
  async function listed(): Promise<string> {
    const files = (await publishedManifest(table))?.files ?? [];
    return `[${files.map(({ name }) => `'${join(table, name)}'`).join(', ')}]`;
  }

  const reading = Promise.all([readOn('byGlob', () => Promise.resolve(`'${table}/**/*.parquet'`)), readOn('byManifest', listed)]);
  return {
    /** Waits until each reader has read once from beginning to end. */
    readAgain: async () => {
      const { byGlob, byManifest } = { ...reads };
      await Promise.race([reading, until(() => reads.byGlob > byGlob + 1 && reads.byManifest > byManifest + 1)]);
    },
    stop: async () => {
      stopped = true;
      await reading;
      return { counts, notFound, reads: reads.byGlob + reads.byManifest };
    },
  };
}

describe('a publication that is killed', () => {
  test.each(Array.from({ length: kills }, (_, index) => index))('leaves the old or the new table whole (%i)', async (index) => {
    const [before, after, cwd] = [await serviceWith(300), await serviceWith(400), await workplace()];
    expect(await run(cwd, before)).toMatchObject({ code: 0 });

    const { process: child, finished } = startCli(['run', 'p.yaml', '--log-level', 'debug'], { cwd, env: after.env });
    await publicationBegins(child.stderr);
    // Nothing shows from outside how far a publication is; any moment of it will do.
    await setTimeout((index * 150) / kills);
    child.kill('SIGKILL');
    await finished;

    const table = join(cwd, 'lake/leads');
    const { rows, differences } = await verifyTable(table);
    // A kill between link and expire, or before the link, leaves files of the other run that the next run clears away.
    expect(differences).toEqual([]);
    expect([300, 400]).toContain(rows);
    expect(await run(cwd, after)).toMatchObject({ code: 0 });
    expect((await verifyTable(table)).differences).toEqual([]);
    expect(await duckdb(`SELECT count(*)::int AS rows FROM '${cwd}/lake/**/*.parquet'`)).toEqual([{ rows: 400 }]);
  });
});

/** Resolves at the last page: what follows is closing, verifying and publishing. */
async function publicationBegins(stderr: NodeJS.ReadableStream | null): Promise<void> {
  for await (const chunk of stderr ?? []) if (String(chunk).includes('400 rows read')) return;
}
