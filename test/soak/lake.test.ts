import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, test } from '@jest/globals';
import { publishedManifest, verifyTable } from '../../src/sinks/index.js';
import { generate } from '../../src/service/index.js';
import { cli, startCli } from '../support/cli.js';
import { duckdb } from '../support/duckdb.js';
import { pipelineText, service, type LoggedService } from '../support/services.js';
import { temporaryFolder } from '../support/temporary.js';

/** `npm run test:crash` does the full number of each; within all other tests it is a few. */
const kills = Number(process.env.LEADSTREAM_PUBLISH_KILLS ?? 4);
const replaces = Number(process.env.LEADSTREAM_REPLACES ?? 4);

/** A table of many small files, so that a publication has many renames. */
const pipeline = pipelineText(`from: leads
consistency: off
to:
  - parquet: { path: lake/leads, partition_by: [campaign_id], row_group_rows: 50, file_max_rows: 50, keep: 1 }`);

async function workplace(): Promise<string> {
  const cwd = await temporaryFolder();
  await writeFile(join(cwd, 'p.yaml'), pipeline);
  return cwd;
}

function serviceWith(leads: number): Promise<LoggedService> {
  return service(generate({ leads, bridges: 5, seed: leads }));
}

const run = (cwd: string, from: LoggedService) => cli(['run', 'p.yaml', '--quiet'], { cwd, env: from.env });

describe('readers during replaces', () => {
  test(`see the old or the new count through ${replaces} of them, by the glob and by the manifest`, async () => {
    const [small, large, cwd] = [await serviceWith(1_000), await serviceWith(1_500), await workplace()];
    expect(await run(cwd, small)).toMatchObject({ code: 0 });
    const readers = startReaders(join(cwd, 'lake/leads'));
    for (let round = 1; round <= replaces; round += 1) expect(await run(cwd, round % 2 === 0 ? small : large)).toMatchObject({ code: 0 });
    const { counts, notFound, reads } = await readers.stop();
    expect(reads).toBeGreaterThan(replaces);
    expect([...counts].sort()).toEqual([1_000, 1_500]);
    expect(notFound).toBeLessThan(reads);
  }, 600_000);
});

/** Reads on and on until it is stopped. A file that vanished between listing and opening is counted; everything else fails. */
function startReaders(table: string) {
  const counts = new Set<number>();
  let [reads, notFound, stopped] = [0, 0, false];

  async function readOn(instance: DuckDBInstance, what: () => Promise<string>): Promise<void> {
    const connection = await instance.connect();
    while (!stopped) {
      try {
        const [row] = (
          await connection.runAndReadAll(`SELECT count(*)::int AS rows FROM read_parquet(${await what()})`)
        ).getRowObjectsJson();
        counts.add(Number(row?.rows));
        reads += 1;
      } catch (failure) {
        if (!/No such file|not found|No files found|Cannot open file/i.test(String(failure))) throw failure;
        notFound += 1;
      }
    }
    connection.closeSync();
  }

  /** All the files that a manifest lists, as a reader who trusts it asks for them. */
  async function listed(): Promise<string> {
    const files = (await publishedManifest(table))?.files ?? [];
    return `[${files.map(({ name }) => `'${join(table, name)}'`).join(', ')}]`;
  }

  const reading = DuckDBInstance.create().then((instance) =>
    Promise.all([readOn(instance, () => Promise.resolve(`'${table}/**/*.parquet'`)), readOn(instance, listed)]),
  );
  return {
    stop: async () => {
      stopped = true;
      await reading;
      return { counts, notFound, reads };
    },
  };
}

describe('a publication that is killed', () => {
  test.each(Array.from({ length: kills }, (_, index) => index))('leaves the old or the new table whole (%i)', async (index) => {
    const [before, after, cwd] = [await serviceWith(300), await serviceWith(400), await workplace()];
    expect(await run(cwd, before)).toMatchObject({ code: 0 });

    const { process: child, finished } = startCli(['run', 'p.yaml', '--log-level', 'debug'], { cwd, env: after.env });
    await publicationBegins(child.stderr);
    await new Promise((done) => setTimeout(done, (index * 150) / kills));
    child.kill('SIGKILL');
    await finished;

    const table = join(cwd, 'lake/leads');
    const { rows, differences } = await verifyTable(table);
    // A kill between link and retirement, or before the link, leaves files of the other run that the next run clears away.
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
