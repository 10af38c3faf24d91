import { mkdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { commitUnlogged, type Commit } from '../../../src/store/index.js';
import { renameAction } from '../../../src/store/commit.js';
import type { SinkContext, SinkWriter } from '../../../src/sinks/sink.js';
import { pageOf } from '../../support/pages.js';
import { column, commitOf, facts, recording, writeAll } from '../../support/sinks.js';
import { filesBelow, temporaryFolder } from '../../support/temporary.js';

/** One way to use a sink that publishes something below `out/`. */
export interface SubjectSink {
  readonly name: string;
  open(context: Partial<SinkContext>, onError?: 'reject' | 'null' | 'fail'): Promise<SinkWriter>;
  /** The same for a run of another process, which does not know of those that are open here. */
  openElsewhere(context: Partial<SinkContext>): Promise<SinkWriter>;
  /** The published rows as `uid` and `age`, read by a program that did not write them. */
  read(baseDir: string): Promise<unknown[]>;
  /** Name under `out/` that appears when the output is published. */
  readonly final: string;
}

const columns = [column('uid'), column('age', 'integer')];
const first = [
  { uid: '007', age: '1' },
  { uid: '8', age: '2' },
];
const second = [{ uid: '9', age: '3' }];

/** What every sink that publishes files must do. */
export function fileSinkContract(subject: SubjectSink): void {
  const final = join('out', subject.final);

  describe(`${subject.name} as a file sink`, () => {
    test('shows nothing under the final name before its commit', async () => {
      const folder = await temporaryFolder();
      const writer = await subject.open(recording(folder));
      await writer.begin(columns);
      await writer.write(pageOf(1, first));
      const commit = await commitOf(await writer.prepare());
      const before = await filesBelow(folder);
      await commitUnlogged(commit);

      expect(before).not.toContain(final);
      expect(before.filter((name) => !name.includes('/_leadstream/') && /\.(csv|ndjson|parquet|json)$/.test(name))).toEqual([]);
      expect(await filesBelow(folder)).toContain(final);
    });

    test('writes the rows of all pages in order', async () => {
      const folder = await temporaryFolder();
      const prepared = await writeAll(subject.open(recording(folder)), columns, first, second);

      expect(prepared.rows).toBe(3);
      expect(prepared.bytes).toBeGreaterThan(0);
      expect(prepared.path).toBe(join(folder, final));
      expect(await subject.read(folder)).toEqual([...first, ...second]);
    });

    test('publishes an output without rows', async () => {
      const folder = await temporaryFolder();
      const prepared = await writeAll(subject.open(recording(folder)), columns);

      expect(prepared.rows).toBe(0);
      expect(await subject.read(folder)).toEqual([]);
    });

    test('leaves nothing after an abort, folders included', async () => {
      const folder = await temporaryFolder();
      const writer = await subject.open(recording(folder));
      await writer.begin(columns);
      await writer.write(pageOf(1, first));
      await writer.abort();

      expect(await filesBelow(folder)).toEqual([]);
    });

    test('leaves nothing after an abort between prepare and commit', async () => {
      const folder = await temporaryFolder();
      const writer = await subject.open(recording(folder));
      await writer.begin(columns);
      await writer.write(pageOf(1, first));
      await (await writer.prepare()).actions(facts);
      await writer.abort();

      expect(await filesBelow(folder)).toEqual([]);
    });

    test('leaves nothing after an abort that comes while it begins, writes or prepares', async () => {
      const calls: ((writer: SinkWriter) => Promise<unknown>)[] = [
        (writer) => writer.begin(columns),
        (writer) => writer.write(pageOf(1, first)),
        (writer) => writer.prepare(),
      ];
      for (const interrupted of [0, 1, 2]) {
        const folder = await temporaryFolder();
        const writer = await subject.open(recording(folder));
        for (const call of calls.slice(0, interrupted)) await call(writer);
        const underWay = calls[interrupted]?.(writer).catch(() => undefined);
        await writer.abort();
        await underWay;
        expect([interrupted, await filesBelow(folder)]).toEqual([interrupted, []]);
      }
    });

    test('leaves nothing after an abort before the columns are known', async () => {
      const folder = await temporaryFolder();
      await (await subject.open(recording(folder))).abort();

      expect(await filesBelow(folder)).toEqual([]);
    });

    test('keeps what stood in the folder before, after an abort', async () => {
      const folder = await temporaryFolder();
      await mkdir(join(folder, 'out'));
      await writeFile(join(folder, 'out', 'mine.txt'), 'mine');
      await (await subject.open(recording(folder))).abort();

      expect(await filesBelow(folder)).toEqual(['out', 'out/mine.txt']);
    });

    test('cannot be prepared after a failed write', async () => {
      const folder = await temporaryFolder();
      const writer = await subject.open(recording(folder), 'fail');
      await writer.begin(columns);
      const failure = await writer.write(pageOf(1, [{ uid: '1', age: '\ud800' }])).catch((thrown: unknown) => thrown);

      expect(failure).toMatchObject({ code: 'E_SINK_VALUE' });
      await expect(writer.write(pageOf(1, second))).rejects.toBe(failure);
      await expect(writer.prepare()).rejects.toBe(failure);
      await writer.abort();
      expect(await filesBelow(folder)).toEqual([]);
    });

    test('replaces the earlier output, and only by its commit', async () => {
      const folder = await temporaryFolder();
      await writeAll(subject.open(recording(folder, 'run-1')), columns, first);
      const writer = await subject.open(recording(folder, 'run-2'));
      await writer.begin(columns);
      await writer.write(pageOf(1, second));
      const prepared = await writer.prepare();
      const commit = await commitOf(prepared);
      const before = await subject.read(folder);
      await commitUnlogged(commit);
      await prepared.cleanup();

      expect(before).toEqual(first);
      expect(await subject.read(folder)).toEqual(second);
    });

    test('is committed by actions that outlive JSON and can be repeated', async () => {
      const folder = await temporaryFolder();
      await writeAll(subject.open(recording(folder, 'run-1')), columns, first);
      const writer = await subject.open(recording(folder, 'run-2'));
      await writer.begin(columns);
      await writer.write(pageOf(1, second));
      const commit = await commitOf(await writer.prepare());
      const read = JSON.parse(JSON.stringify(commit)) as Commit;
      expect(read).toStrictEqual(commit);
      await commitUnlogged({ ...read, actions: read.actions.slice(0, 1) });
      await commitUnlogged(read);
      await commitUnlogged(read);

      expect(await subject.read(folder)).toEqual(second);
    });

    test.each(['cut', 'grown', 'changed', 'gone', 'a link to itself'] as const)(
      'is not committed when a file of it is %s before that, and the earlier output stays',
      async (damage) => {
        const folder = await temporaryFolder();
        await writeAll(subject.open(recording(folder, 'run-0')), columns, first);
        const seen: unknown[] = [];
        for (let at = 0; ; at += 1) {
          const writer = await subject.open(recording(folder, `run-${at + 1}`));
          await writer.begin(columns);
          await writer.write(pageOf(1, second));
          const commit = await commitOf(await writer.prepare());
          const renames = commit.actions.flatMap((action) => renameAction().safeParse(action).data ?? []);
          expect(renames.filter(({ from, file }) => from.endsWith('.partial') && !file)).toEqual([]);
          const files = renames.flatMap(({ from, file }) => (file ? [from] : []));
          const path = files[at];
          if (path !== undefined && (await damageFile(path, damage))) {
            await expect(commitUnlogged(commit)).rejects.toMatchObject({ code: expect.stringMatching(/^E_SINK_(VERIFY|WRITE)$/) });
            seen.push(await subject.read(folder));
          }
          await writer.abort();
          if (path === undefined) break;
        }
        expect(seen.length).toBeGreaterThan(0);
        for (const rows of seen) expect(rows).toEqual(first);
      },
    );

    test('clears away what a killed run left', async () => {
      const folder = await temporaryFolder();
      const dead = '20260101T000000000Z-0a1b2c3d';
      const killed = await subject.openElsewhere(recording(folder, dead));
      await killed.begin(columns);
      await killed.write(pageOf(1, first));
      await writeAll(subject.open(recording(folder, 'run-2')), columns, second);

      expect((await filesBelow(folder)).filter((name) => name.includes(dead))).toEqual([]);
      expect(await subject.read(folder)).toEqual(second);
      await killed.abort();
      expect(await subject.read(folder)).toEqual(second);
    });

    test('gives the same contents for the same rows, whatever the run', async () => {
      const one = await temporaryFolder();
      const other = await temporaryFolder();
      await writeAll(subject.open(recording(one, 'run-1')), columns, first, second);
      await writeAll(subject.open(recording(other, 'run-2')), columns, first, second);

      expect(await contents(join(one, final))).toEqual(await contents(join(other, final)));
    });

    test('tells at once that the parent is no folder', async () => {
      const folder = await temporaryFolder();
      await writeFile(join(folder, 'out'), '');

      await expect(subject.open(recording(folder))).rejects.toMatchObject({ name: 'SinkError', code: 'E_SINK_PATH' });
      expect(await filesBelow(folder)).toEqual(['out']);
    });

    test('tells at once that nothing can be written there', async () => {
      await expect(subject.open(recording('/proc'))).rejects.toMatchObject({
        code: 'E_SINK_PATH',
        message: expect.stringMatching(/\/proc\/out.*ENOENT/),
      });
    });

    test('refuses calls out of order', async () => {
      const folder = await temporaryFolder();
      const writer = await subject.open(recording(folder));
      await expect(writer.write(pageOf(1, first))).rejects.toMatchObject({ code: 'E_RUN_FAILED' });
      await writer.abort();
    });

    test('refuses two columns of one name', async () => {
      const folder = await temporaryFolder();
      const writer = await subject.open(recording(folder));

      await expect(writer.begin([column('uid'), column('uid')])).rejects.toMatchObject({ code: 'E_SINK_VALUE' });
      await writer.abort();
    });

    test('takes a value that does not cast out of the output and into the rejects, without telling it', async () => {
      const folder = await temporaryFolder();
      const context = recording(folder);
      const bad = { uid: '1', age: 'Bob\ud800' };
      const prepared = await writeAll(subject.open(context), columns, [...first, bad]);

      expect(prepared.rows).toBe(2);
      expect(context.rejects).toEqual([[bad, { field: 'age', reason: expect.stringMatching(/^is not /), page: 1, index: 2 }]]);
      expect(JSON.stringify(context.rejects[0]?.[1])).not.toContain('Bob');
      expect(await subject.read(folder)).toEqual(first);
    });

    test('writes null for a value that does not cast under on_error: null, and counts it', async () => {
      const folder = await temporaryFolder();
      const context = recording(folder);
      const prepared = await writeAll(subject.open(context, 'null'), columns, [{ uid: '1', age: '\ud800' }]);

      expect(prepared.rows).toBe(1);
      expect(context.nulls).toEqual(['age']);
    });
  });
}

/** The bytes of a file, or of every part of a table by its name. */
async function contents(path: string): Promise<unknown> {
  const target = await readlink(path).catch(() => undefined);
  if (target === undefined) return readFile(path);
  const parts = (await filesBelow(path)).filter((name) => name.endsWith('.parquet'));
  return Promise.all(parts.map((name) => readFile(join(path, name))));
}

/** Damages a file that waits for the commit. @returns Whether that is another file now. */
async function damageFile(path: string, damage: 'cut' | 'grown' | 'changed' | 'gone' | 'a link to itself'): Promise<boolean> {
  const bytes = await readFile(path);
  if (bytes.length === 0 && (damage === 'cut' || damage === 'changed')) return false;
  await rm(path);
  if (damage === 'cut') await writeFile(path, bytes.subarray(0, -1));
  if (damage === 'grown') await writeFile(path, Buffer.concat([bytes, Buffer.from('\n')]));
  if (damage === 'changed') await writeFile(path, bytes.with(bytes.length >> 1, 0x5f ^ (bytes[bytes.length >> 1] ?? 0)));
  if (damage === 'a link to itself') {
    await writeFile(`${path}.moved`, bytes);
    await symlink(`${path}.moved`, path);
  }
  return true;
}
