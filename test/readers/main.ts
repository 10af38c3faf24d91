/**
 * Makes tables without rows, partitioned ones and ones that were appended to, reads them with programs that nobody here wrote, and prints
 * what came of it as a Markdown table. Python and, for Spark, Java 17 are needed; the readers come from PyPI into a folder of their own.
 *
 * `npm run readers`, or `npm run readers -- VENV` with a virtual environment that has requirements.txt; exits with 1 when one read wrongly.
 */
import { execFile, spawn } from 'node:child_process';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { of } from 'rxjs';
import type { Column, Row, DeclaredType } from '../../src/core/index.js';
import { writeTo } from '../../src/run/index.js';
import { parquet, type ParquetOptions } from '../../src/sinks/index.js';
import { verifyTable } from '../../src/lake/index.js';
import { engineNames } from '../../src/parquet/index.js';

const readers = ['pyarrow', 'pandas', 'fastparquet', 'polars', 'daft', 'duckdb', 'datafusion', 'spark', 'deltalake', 'pyiceberg'] as const;

const column = (name: string, type: DeclaredType = 'text'): Column => ({ name, original: name, type, cast: false, sensitivity: 'plain' });
const columns = [column('id'), column('n', 'integer'), column('state'), column('ok', 'flag'), column('at', 'timestamp')];

/** A row of each partition, among them null and a value with characters that folders cannot have. */
const rows: readonly Row[] = [
  { id: 'a', n: '1', state: 'CA', ok: 'yes', at: '1706659200' },
  { id: 'b', n: '2', state: 'NY', ok: 'no', at: '1706659201' },
  { id: 'c', n: null, state: null, ok: null, at: null },
  { id: 'd', n: '4', state: 'a/b c%', ok: 'yes', at: '1706659203' },
];

/** A table that some runs write, one after the other. */
interface Case {
  readonly name: string;
  readonly options: Partial<ParquetOptions>;
  readonly runs: readonly (readonly Row[])[];
  /** Whether the last run has a column more. */
  readonly late?: boolean;
}

const partitioned = { partition_by: ['state'] } as const;
const append = { mode: 'append' } as const;

const cases: readonly Case[] = [
  ...engineNames.map((engine): Case => ({ name: `no rows, ${engine}`, options: { engine }, runs: [[]] })),
  ...engineNames.map((engine): Case => ({ name: `no rows, partitioned, ${engine}`, options: { engine, ...partitioned }, runs: [[]] })),
  ...engineNames.map((engine): Case => ({ name: `partitioned, ${engine}`, options: { engine, ...partitioned }, runs: [rows] })),
  { name: 'partitioned, no null', options: partitioned, runs: [rows.slice(0, 2)] },
  { name: 'no rows, then appended', options: append, runs: [[], rows] },
  { name: 'no rows, then appended, partitioned', options: { ...append, ...partitioned }, runs: [[], rows] },
  { name: 'appended twice', options: append, runs: [rows.slice(0, 2), rows, []] },
  { name: 'appended twice, partitioned', options: { ...append, ...partitioned }, runs: [rows.slice(0, 2), rows, []] },
  { name: 'a late column, appended', options: append, runs: [rows.slice(0, 2), rows], late: true },
];

async function made(base: string, { name, options, runs, late }: Case, index: number) {
  const path = `t${index}`;
  for (const [run, some] of runs.entries()) {
    const last = late && run === runs.length - 1;
    const key = options.mode === 'append' ? { key: ['id'] } : {};
    const sink = await parquet({ path, ...options, ...key }, { baseDir: base, runId: `run-${run}` });
    const page = { number: 1, rows: last ? some.map((row) => ({ ...row, late: 'x' })) : some, lease: { release: () => {} } };
    await writeTo(of(page), sink, { columns: last ? [...columns, column('late')] : columns });
  }
  const link = join(base, path);
  const { differences } = await verifyTable(link);
  if (differences.length > 0) throw new Error(`${name}: ${differences.join('; ')}`);
  const written = (runs.findLast((some) => some.length > 0) ?? []).map((row, at) => {
    const isLate = late && at >= (runs[0]?.length ?? 0);
    return { id: row['id'], n: row['n'], state: row['state'], ...(late && { late: isLate ? 'x' : null }) };
  });
  return { name, link, folder: await realpath(link), partition: 'partition_by' in options, rows: written };
}

const ways = ['link', 'folder', 'glob'];

/** What readers cannot do whoever wrote the files. */
const limits: readonly { readonly reader: string; readonly says: RegExp; readonly why: string }[] = [
  { reader: 'pandas', says: /unify dictionaries with nulls/, why: 'fails on a null among partitions, in its own files too' },
  { reader: 'deltalake', says: /a\/b c%/, why: 'takes folders over only if their names have nothing percent-encoded' },
  { reader: 'fastparquet', says: /'__HIVE_DEFAULT_PARTITION__'/, why: "reads Hive's null as a text" },
  { reader: 'datafusion', says: /'__HIVE_DEFAULT_PARTITION__'/, why: "reads Hive's null as a text" },
  { reader: 'daft', says: /FileNotFoundError/, why: 'looks for files in the folder itself only; takes folders of partitions by a glob' },
  { reader: 'daft', says: /no column late/, why: 'takes the columns of one file; the others by schema=' },
];

interface Reading {
  readonly table: string;
  readonly way: string;
  readonly result: string;
}

/** Reads all tables with one reader. One that ends before its time has no result for the rest. */
async function readings(python: string, reader: string, tables: string): Promise<readonly Reading[]> {
  const child = spawn(python, [join(import.meta.dirname, 'read.py'), reader, tables], { stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  child.stdout.setEncoding('utf8');
  for await (const chunk of child.stdout) text += String(chunk);
  return text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Reading);
}

async function environment(base: string): Promise<string> {
  const given = process.argv[2];
  if (given !== undefined) return join(given, 'bin/python');
  const run = promisify(execFile);
  await run('python3', ['-m', 'venv', join(base, 'venv')]);
  await run(join(base, 'venv/bin/pip'), ['install', '--quiet', '--requirement', join(import.meta.dirname, 'requirements.txt')]);
  return join(base, 'venv/bin/python');
}

const base = await mkdtemp(join(tmpdir(), 'leadstream-readers-'));
try {
  const python = await environment(base);
  const tables = [];
  for (const [index, one] of cases.entries()) tables.push(await made(base, one, index));
  await writeFile(join(base, 'tables.json'), JSON.stringify(tables));

  const notes: string[] = [];
  const found = new Map<string, string>();
  let faults = 0;
  for (const reader of readers) {
    const read = await readings(python, reader, join(base, 'tables.json'));
    for (const { table, way, result } of read) {
      const limit = limits.find((one) => one.reader === reader && one.says.test(result));
      const fine = result === 'ok' || result === '-';
      if (!fine && !limit) faults += 1;
      const note = `${reader}: ${limit?.why ?? result.replaceAll(base, '…')}`;
      if (!fine && !notes.includes(note)) notes.push(note);
      found.set(`${reader} ${table} ${way}`, fine ? result : `${limit ? '' : '**no** '}[${notes.indexOf(note) + 1}]`);
    }
    faults += tables.length * ways.length - read.length;
  }

  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const head = ['table', 'by', ...readers];
  const body = tables.flatMap(({ name }) =>
    ways.map((way) => line([name, way, ...readers.map((reader) => found.get(`${reader} ${name} ${way}`) ?? 'ended')])),
  );
  console.log([line(head), line(head.map(() => '---')), ...body, '', ...notes.map((note, index) => `${index + 1}. ${note}`)].join('\n'));
  process.exitCode = faults > 0 ? 1 : 0;
} finally {
  await rm(base, { recursive: true, force: true });
}
