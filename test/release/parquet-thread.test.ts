import { join } from 'node:path';
import { start } from '../support/cli.js';
import { temporaryFolder } from '../support/temporary.js';

/** The thread runs from the built files only, so a process of its own uses them: `open`, `page`, `filesOf` and what became of threads. */
const prelude = `
  import { subscribe } from 'node:diagnostics_channel';
  import { readdirSync, readFileSync } from 'node:fs';
  import { parquet } from '${join(process.cwd(), 'dist/index.js')}';

  const threads = [];
  let ended = 0;
  subscribe('worker_threads', ({ worker }) => { threads.push(worker); worker.on('exit', () => (ended += 1)); });
  const columns = ['a', 'b'].map((name) => ({ name, original: name, type: 'text', cast: false, sensitivity: 'plain' }));
  const page = (number) => ({
    number,
    rows: Array.from({ length: 500 }, (_, row) => ({ a: 'row ' + (number * 500 + row), b: row % 7 ? 'b' + (row % 5) : null })),
    lease: { release() {} },
  });
  async function open(path, threads, more = {}) {
    const writer = await parquet({ path, threads, row_group_rows: 700, ...more }, { baseDir: process.cwd(), runId: 'run' });
    await writer.begin(columns);
    return writer;
  }
  const filesOf = (path) => Object.fromEntries(readdirSync('.' + path + '.runs/data/run', { recursive: true })
    .filter((name) => name.includes('part-')).sort()
    .map((name) => [name, readFileSync('.' + path + '.runs/data/run/' + name).toString('base64')]));
  const tell = (value) => console.log(JSON.stringify(value));
`;

async function told(script: string): Promise<unknown> {
  const folder = await temporaryFolder();
  const parameters = ['--input-type=module', '--eval', prelude + script];
  const { code, stdout, stderr } = await start(process.execPath, parameters, { cwd: folder }).finished;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

const ways = {
  'one file': {},
  'files rolled by bytes': { file_max_bytes: 3000, compression: 'none' },
  partitions: { partition_by: ['b'] },
  'sorted row groups': { sort_by: ['a desc'] },
};

test('files have the same bytes with and without the thread', async () => {
  const script = `
    const seen = {};
    for (const [what, more] of Object.entries(${JSON.stringify(ways)})) {
      const paths = [0, 1].map((threads) => what.replaceAll(' ', '-') + threads);
      for (const threads of [0, 1]) {
        const writer = await open(paths[threads], threads, more);
        for (let number = 0; number < 20; number += 1) await writer.write(page(number));
        await writer.prepare();
      }
      const [one, other] = paths.map(filesOf);
      seen[what] = { files: Object.keys(one).length > 0, same: JSON.stringify(one) === JSON.stringify(other) };
    }
    tell({ seen, threads: threads.length, ended });
  `;
  const seen = Object.fromEntries(Object.keys(ways).map((what) => [what, { files: true, same: true }]));
  expect(await told(script)).toEqual({ seen, threads: 4, ended: 4 });
});

test('an abort while a row group is on its way removes everything and ends the thread', async () => {
  const script = `
    const writer = await open('t', 1);
    for (let number = 0; number < 3; number += 1) await writer.write(page(number));
    await writer.abort();
    tell({ threads: threads.length, ended, left: readdirSync('.') });
  `;
  expect(await told(script)).toEqual({ threads: 1, ended: 1, left: [] });
});

test('the end of the thread is told as a failure to write', async () => {
  const script = `
    const writer = await open('t', 1);
    await writer.write(page(0));
    await writer.write(page(1));
    await threads[0].terminate();
    const failures = [];
    for (const call of [() => writer.write(page(2)), () => writer.prepare()]) await call().catch(({ code }) => failures.push(code));
    await writer.abort();
    const again = await open('t', 1);
    for (let number = 0; number < 5; number += 1) await again.write(page(number));
    tell({ failures, threads: threads.length, rows: (await again.prepare()).rows });
  `;
  expect(await told(script)).toEqual({ failures: ['E_SINK_WRITE', 'E_SINK_WRITE'], threads: 2, rows: 2500 });
});
