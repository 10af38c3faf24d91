import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { amountOf, catalogue, nearest, type DeclaredType } from '../core/index.js';
import { bookNames, writtenPath, type PipelineTest, type TextRow } from '../pipeline/index.js';
import type { Outcome } from './outcome.js';
import { diffRows, type RowDifference } from './row-diff.js';
import { writtenRows } from './written-rows.js';

/** One way in which the result of a run differs from what its test expects. */
export interface Difference {
  /** The part compared: `exit`, `error`, `message`, `warnings`, `rows`, `books`, `stdout`, or `files` with a path. */
  readonly at: string;
  readonly expected: unknown;
  readonly received: unknown;
  /** For rows, the ones that differ. */
  readonly rows?: readonly RowDifference[];
}

/** Location of the files, and the types of the columns of tables. */
interface Place {
  readonly folder: string;
  typeOf(column: string): DeclaredType;
}

type Expected = PipelineTest['expect'];

/** Compares the result of a run with what its test expects. @returns All differences, each cause before its consequences. */
export async function differencesOf(expected: Expected, outcome: Outcome, place: Place): Promise<readonly Difference[]> {
  return [
    ...endDifferences(expected, outcome),
    ...warningDifferences(expected, outcome),
    ...rowDifferences('rows', expected.rows, outcome.rows),
    ...bookDifferences(expected, outcome),
    ...(await fileDifferences(expected, outcome, place)),
    ...(expected.stdout === undefined ? [] : differing('stdout', expected.stdout, outcome.stdout)),
  ];
}

function endDifferences({ exit, error, message }: Expected, outcome: Outcome): readonly Difference[] {
  const wanted = exit ?? (error === undefined ? 0 : catalogue[error].exit);
  const code = outcome.failure?.code;
  const said = outcome.failure?.message ?? '';
  const told = outcome.failure ? `${outcome.exit}, ${code}: ${said}` : '0, it published';
  if (wanted !== outcome.exit) return [{ at: 'exit', expected: wanted, received: told }];
  return [
    ...(error === undefined || error === code ? [] : [{ at: 'error', expected: error, received: `${code}: ${said}` }]),
    ...(message === undefined || said.includes(message) ? [] : [{ at: 'message', expected: message, received: said }]),
  ];
}

function warningDifferences({ warnings }: Expected, outcome: Outcome): readonly Difference[] {
  if (warnings === undefined) return [];
  const codes = (all: readonly string[]) => [...new Set(all)].toSorted().join(', ') || 'none';
  // The rows of a test may have only the fields that it is about.
  const told = outcome.warnings.filter((code) => code !== 'W_SOURCE_FIELD_GONE' || warnings.includes(code));
  return differing('warnings', codes(warnings), codes(told));
}

function bookDifferences({ books = {} }: Expected, { report }: Outcome): readonly Difference[] {
  if (Object.keys(books).length === 0) return [];
  if (report === undefined || report.sinks.length === 0)
    return [{ at: 'books', expected: 'those of the outputs', received: 'the run ended before rows were counted' }];
  return report.sinks.flatMap(({ at, books: counted }) =>
    Object.entries(bookNames).flatMap(([name, key]) => {
      const wanted = Object.entries(books).find(([given]) => given === name)?.[1];
      return wanted === undefined ? [] : differing(`books of ${at}: ${name}`, wanted, counted[key]);
    }),
  );
}

async function fileDifferences({ files = {} }: Expected, { report }: Outcome, { folder, typeOf }: Place): Promise<readonly Difference[]> {
  const found: Difference[] = [];
  for (const [name, { rows, text, exists = true }] of Object.entries(files)) {
    const [at, path] = [`files ${name}`, join(folder, report ? writtenPath(name, report) : name)];
    const isThere = await access(path).then(
      () => true,
      () => false,
    );
    if (isThere !== exists)
      found.push({ at, expected: exists ? 'a file' : 'no file', received: isThere ? 'it exists' : 'it does not exist' });
    if (!isThere || !exists) continue;
    if (text !== undefined) found.push(...differing(at, text, await readFile(path, 'utf8')));
    if (rows === undefined) continue;
    const written = await writtenRows(path, typeOf);
    if (typeof written === 'string') found.push({ at, expected: 'rows', received: written });
    else found.push(...rowDifferences(at, rows, written));
  }
  return found;
}

function rowDifferences(
  at: string,
  expected: NonNullable<Expected['rows']> | undefined,
  received: readonly TextRow[],
): readonly Difference[] {
  if (expected === undefined) return [];
  const wanted = expected.map((row): TextRow => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, textIn(value)])));
  const unknown = columnUnknown(wanted, received);
  if (unknown !== undefined) return [{ at, expected: `a column ${unknown.name}`, received: unknown.near }];
  const rows = diffRows(wanted, received);
  return rows.length === 0 ? [] : [{ at, expected: amountOf(wanted.length, 'row'), received: amountOf(received.length, 'row'), rows }];
}

function textIn(value: string | number | boolean | null): string | null {
  return value === null ? null : String(value);
}

/** Reports a column that no row has once, instead of for every row. */
function columnUnknown(expected: readonly TextRow[], received: readonly TextRow[]) {
  const [first] = received;
  const name = first && expected.flatMap((row) => Object.keys(row)).find((column) => !received.some((row) => Object.hasOwn(row, column)));
  if (first === undefined || name === undefined) return undefined;
  const near = nearest(name, Object.keys(first));
  return { name, near: near === undefined ? `columns ${Object.keys(first).join(', ')}` : `none; did you mean ${near}?` };
}

function differing(at: string, expected: string | number, received: string | number): readonly Difference[] {
  return expected === received ? [] : [{ at, expected, received }];
}
