import { fork, type ChildProcess } from 'node:child_process';
import { randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { RestCatalog, storeTable, verifyTable } from '../../src/lake/index.js';
import { intentsIn } from '../../src/lake/store-table.js';
import { Stores } from '../../src/store/index.js';
import { duckdb } from '../support/duckdb.js';
import { inSeaweedFS } from '../support/in-seaweedfs.js';
import { bucket, warehouse } from '../support/seaweedfs.js';
import { temporaryFolder } from '../support/temporary.js';
import type { Ending, Order } from '../support/writer-child.js';

const [writers, rounds] = [10, 4];
const kinds = ['plain', 'iceberg', 'rest', 'delta'] as const;

/** The mode of a run and the day of its rows: all of one, of its own, or of one that others replace, too. */
const ways: Readonly<Record<string, (writer: number) => readonly [string, number]>> = {
  append: () => ['append', 1],
  'replace own partitions': (writer) => ['replace_partitions', 10 + writer],
  'replace shared partitions': () => ['replace_partitions', randomInt(1, 4)],
  'append or replace': (writer) => [writer % 2 === 0 ? 'append' : 'replace_partitions', randomInt(1, 4)],
};

inSeaweedFS('ten processes that write at once without a lock', (server) => {
  const children: ChildProcess[] = [];
  afterAll(() => children.forEach((child) => child.kill()));

  async function ordered(writer: number, order: Order): Promise<Ending & Order> {
    children[writer] ??= fork('test/support/writer-child.ts', { execArgv: ['--import', 'tsx'], env: { ...process.env } });
    children[writer].send(order);
    const [ending] = (await once(children[writer], 'message')) as [Ending];
    return { ...order, ...ending };
  }

  test.each(kinds.flatMap((kind) => Object.keys(ways).map((way) => [kind, way] as const)))(
    '%s: %s',
    async (kind, way) => {
      const { catalog: uri } = server();
      const credential = 'writer:writer-secret';
      Object.assign(process.env, { LEADSTREAM_CATALOG_URI: uri, LEADSTREAM_CATALOG_CREDENTIAL: credential });
      const catalog = { uri, warehouse, name: `writers.t_${randomUUID().slice(0, 8)}`, credential, scope: 'catalog' };
      const rest = kind === 'rest' ? new RestCatalog(catalog) : undefined;
      const path = (await rest?.location()) ?? `s3://${bucket}/${randomUUID()}`;
      const table = storeTable(new Stores().at(path), kind === 'rest' ? 'iceberg' : kind, rest);
      const folder = await temporaryFolder();
      const write = (writer: number, run: string, mode: string, day: number, afterMs = 0) => {
        const options = { ...(rest ? { catalog } : { path }), table: table.format.kind, mode, partition_by: ['day'], keep: 100 };
        const rows = [1, 2].map((row) => ({ id: `${run}-${row}`, day: `202401${String(day).padStart(2, '0')}` }));
        return ordered(writer, { options, run, rows, folder, afterMs });
      };
      let [current, won] = ['first', 0];
      const days = new Map<unknown, readonly string[]>();
      const published = ({ options, rows }: Order) => {
        const [ids, [{ day } = {}]] = [rows.map(({ id }) => String(id)), rows];
        days.set(day, [...('mode' in options && options.mode === 'append' ? (days.get(day) ?? []) : []), ...ids]);
      };
      published(await write(0, current, 'append', 1));
      for (let round = 0; round < rounds; round += 1) {
        const runs = Array.from({ length: writers }, (_, writer) => {
          const [mode, day] = ways[way]?.(writer) ?? ['', 0];
          return write(writer, `run-${round}-${writer}`, mode, day, randomInt(0, 2_000));
        });
        const ends = await Promise.all(runs);
        expect(ends.flatMap(({ code }) => (code === undefined || code === 'E_RUN_LOCKED' ? [] : [code]))).toEqual([]);
        // Each of them replaced the one before.
        const followers = new Map(ends.filter(({ code }) => code === undefined).map((end) => [end.earlier, end]));
        for (let next = followers.get(current); next; next = followers.get(current)) {
          published(next);
          current = next.run;
          won += 1;
        }
        const copies = await temporaryFolder();
        const { files } = await table.version();
        for (const [index, { name }] of files.entries()) await table.objects.download(name, join(copies, `${index}`));
        const found = await duckdb(
          `SELECT id FROM read_parquet([${files.map((_, index) => `'${join(copies, `${index}`)}'`).join()}]) ORDER BY id`,
        );
        expect(found.map(({ id }) => id)).toEqual([...days.values()].flat().sort());
      }
      expect(won).toBeGreaterThanOrEqual(rounds);
      expect((await write(0, 'last', 'append', 1)).code).toBeUndefined();
      expect((await verifyTable(path)).differences).toEqual([]);
      expect(await intentsIn(table.objects)).toEqual([]);
    },
    600_000,
  );
});
