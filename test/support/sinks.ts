import type { Column, Row, DeclaredType } from '../../src/core/index.js';
import { publish } from '../../src/store/index.js';
import type { Fault } from '../../src/flow/index.js';
import type { RunFacts } from '../../src/lake/index.js';
import type { SinkContext, SinkWriter, Staged } from '../../src/sinks/index.js';
import { pageOf } from './pages.js';

export function column(name: string, type: DeclaredType = 'text', more: Partial<Column> = {}): Column {
  return { name, original: name, type, cast: false, sensitivity: 'plain', ...more };
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
    for (const [index, rows] of pages.entries()) await writer.write(pageOf(index + 1, rows));
    const staged = await writer.finish();
    await publish(await staged.publication(facts));
    await staged.settle();
    return staged;
  } catch (failure) {
    await writer.abort();
    throw failure;
  }
}
