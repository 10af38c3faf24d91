import { DuckDBInstance } from '@duckdb/node-api';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Column, DeclaredType, Row } from '../../src/collections/index.js';
import { publish } from '../../src/files/index.js';
import type { Fault, Page } from '../../src/flow/index.js';
import type { RunFacts, SinkContext, SinkWriter, Staged } from '../../src/sinks/index.js';

/** A temporary folder, removed when the scope that `await using` it ends. */
export async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'leadstream-sinks-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Everything below a folder, sorted, as relative paths; links are not followed. */
export async function filesBelow(folder: string): Promise<string[]> {
  const found = await readdir(folder, { recursive: true });
  return found.sort();
}

export function column(name: string, type: DeclaredType = 'text', more: Partial<Column> = {}): Column {
  return { name, original: name, type, cast: false, sensitivity: 'plain', ...more };
}

export function page(rows: readonly Row[], number = 1): Page {
  return { number, rows, lease: { release: () => undefined } };
}

export const facts: RunFacts = {
  pipeline: 'test',
  fingerprint: 'f00d',
  collection: 'users',
  pages: 1,
  consistency: 'off',
  startedAt: '2026-01-01T00:00:00.000Z',
  books: {},
};

/** A context for tests that keeps what was rejected. */
export function recording(
  baseDir: string,
  runId = 'run-1',
): Partial<SinkContext> & { readonly rejects: [Row, Fault][]; readonly nulls: string[] } {
  const rejects: [Row, Fault][] = [];
  const nulls: string[] = [];
  return {
    baseDir,
    runId,
    rejects,
    nulls,
    reject: (row, fault) => void rejects.push([row, fault]),
    nulled: (field) => void nulls.push(field),
  };
}

/** Writes one page per list of rows, finishes, publishes and settles. */
export async function writeAll(sink: Promise<SinkWriter>, columns: readonly Column[], ...pages: (readonly Row[])[]): Promise<Staged> {
  const writer = await sink;
  try {
    await writer.begin(columns);
    for (const [index, rows] of pages.entries()) await writer.write(page(rows, index + 1));
    const staged = await writer.finish();
    await publish(await staged.publication(facts));
    await staged.settle();
    return staged;
  } catch (failure) {
    await writer.abort();
    throw failure;
  }
}

/** What DuckDB answers to a query: one object per row. */
export async function duck(sql: string): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    return (await connection.runAndReadAll(sql)).getRowObjectsJS();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
