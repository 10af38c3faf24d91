import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseString } from 'fast-csv';
import { textOf, type DeclaredType } from '../core/index.js';
import { JsonText, readJson } from '../json/index.js';
import { readGroups } from '../parquet/index.js';
import { bookName, type TestShape } from '../plan/index.js';
import type { RunReport } from '../run/index.js';

export interface Difference {
  /** The part compared: `error`, `rows[0].age`, `books of to[0] csv: read`, `files out.csv`, `stdout`, or `setup` if it could not run. */
  readonly at: string;
  readonly expected: unknown;
  readonly received: unknown;
}

/** Why a run ended, what it did until then, the rows that left the last step, and what it printed. */
export interface Outcome {
  readonly failure: { readonly code: string; readonly message: string } | undefined;
  readonly report: Pick<RunReport, 'sinks'> | undefined;
  readonly rows: readonly TextRow[];
  readonly stdout: string;
}

type TextRow = Readonly<Record<string, string | null>>;

export type TypeOf = (column: string) => DeclaredType;

type Expected = TestShape['expect'];
type ExpectedRows = NonNullable<Expected['rows']>;

/** Compares the result of a run with what its test expects. @returns All differences, causes before consequences. */
export async function differencesOf(expected: Expected, outcome: Outcome, folder: string, typeOf: TypeOf): Promise<readonly Difference[]> {
  const { error, rows, books = {}, files = {}, stdout } = expected;
  const { failure, report } = outcome;
  const inFiles: Difference[] = [];
  for (const [name, file] of Object.entries(files))
    inFiles.push(...(await fileDifferences(`files ${name}`, join(folder, name), file, typeOf)));
  return [
    ...(error === failure?.code ? [] : [{ at: 'error', expected: error, received: failure && `${failure.code}: ${failure.message}` }]),
    ...(rows === undefined ? [] : rowDifferences('rows', rows, outcome.rows)),
    ...Object.entries(books).flatMap(([name, rows]) => bookDifferences(name, rows, report?.sinks ?? [])),
    ...inFiles,
    ...(stdout === undefined ? [] : textDifferences('stdout', stdout, outcome.stdout)),
  ];
}

function bookDifferences(name: string, expected: number, sinks: RunReport['sinks']): readonly Difference[] {
  if (sinks.length === 0) return [{ at: `books: ${name}`, expected, received: undefined }];
  return sinks.flatMap(({ at, books }) => {
    const [, received] = Object.entries(books).find(([count]) => bookName(count) === name) ?? [];
    return differing(`books of ${at}: ${name}`, expected, received);
  });
}

async function fileDifferences(
  at: string,
  path: string,
  { rows, text, exists }: NonNullable<Expected['files']>[string],
  typeOf: TypeOf,
): Promise<readonly Difference[]> {
  const found = await stat(path).catch(() => undefined);
  if (exists !== (found !== undefined)) return [{ at, expected: exists ? 'a file' : undefined, received: exists ? undefined : 'a file' }];
  if (!found) return [];
  const texts = text === undefined ? [] : textDifferences(at, text, await readFile(path, 'utf8'));
  if (rows === undefined) return texts;
  const written = found.isDirectory() ? await tableRows(path, typeOf) : await fileRows(path);
  if (written) return [...texts, ...rowDifferences(at, rows, written)];
  return [...texts, { at, expected: 'a table, or a .csv, .ndjson or .jsonl file', received: 'another file' }];
}

function rowDifferences(at: string, expected: ExpectedRows, received: readonly TextRow[]): readonly Difference[] {
  return pairsOf(expected, received).flatMap(([wanted, came], index) => {
    const row = `${at}[${index}]`;
    if (!wanted || !came) return [{ at: row, expected: wanted, received: came }];
    return Object.entries(wanted).flatMap(([name, value]) =>
      differing(`${row}.${name}`, value === null ? null : String(value), came[name]),
    );
  });
}

function textDifferences(at: string, expected: string, received: string): readonly Difference[] {
  const lines = pairsOf(expected.split('\n'), received.split('\n'));
  return lines.flatMap(([wanted, came], index) => differing(`${at}, line ${index + 1}`, wanted, came)).slice(0, 1);
}

function pairsOf<A, B>(some: readonly A[], others: readonly B[]): readonly (readonly [A | undefined, B | undefined])[] {
  return Array.from({ length: Math.max(some.length, others.length) }, (_, index) => [some[index], others[index]]);
}

function differing(at: string, expected: unknown, received: unknown): readonly Difference[] {
  return expected === received ? [] : [{ at, expected, received }];
}

/** @param typeOf Distinguishes days from instants. */
async function tableRows(path: string, typeOf: TypeOf): Promise<readonly TextRow[]> {
  const rows: TextRow[] = [];
  for (const file of (await readdir(path, { recursive: true })).filter((entry) => entry.endsWith('.parquet')).toSorted()) {
    // Partition columns exist only in folder names.
    const folders = file.split('/').flatMap((part) => [...part.matchAll(/^([^=]+)=(.*)$/g)]);
    const inFolders = folders.map(([, name = '', value = '']) => [name, decodeURIComponent(value)] as const);
    for await (const group of readGroups(join(path, file)))
      for (const row of group) {
        const texts = Object.entries(row).map(([name, value]) => [name, textOf(value ?? null, typeOf(name))] as const);
        rows.push(Object.fromEntries([...inFolders, ...texts]));
      }
  }
  return rows;
}

async function fileRows(path: string): Promise<readonly TextRow[] | undefined> {
  const text = await readFile(path, 'utf8');
  if (path.endsWith('.csv')) return (await parseString(text, { headers: true }).toArray()) as readonly TextRow[];
  if (!/\.(?:ndjson|jsonl)$/.test(path)) return undefined;
  const records = text.split('\n').flatMap((line) => (line === '' ? [] : [Object.entries(readJson(Buffer.from(line)) ?? {})]));
  return records.map((record) => Object.fromEntries(record.map(([name, value]) => [name, value instanceof JsonText ? value.text : value])));
}
