import type { Column, Row, DeclaredType } from '../../src/core/index.js';
import { commitUnlogged, type Commit } from '../../src/store/index.js';
import type { Fault } from '../../src/flow/index.js';
import type { RunFacts } from '../../src/lake/index.js';
import { standaloneSink } from '../../src/sinks/alone.js';
import type { PreparedOutput, SinkContext, SinkDefinition, SinkWriter } from '../../src/sinks/sink.js';
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

/** Returns a context for tests that records rejects. */
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

/** Opens a sink as another process would, unaware of sinks open in this one. */
export function elsewhere<C>(sink: SinkDefinition<string, C>, options: unknown): (context: Partial<SinkContext>) => Promise<SinkWriter> {
  return (context) => sink.open(sink.config().parse(options), standaloneSink(sink.name, context));
}

/** Returns the commit of a single output. */
export async function commitOf(prepared: PreparedOutput): Promise<Commit> {
  const { path } = prepared;
  return { outputs: path === undefined ? [] : [path], actions: await prepared.actions(facts) };
}

/** Writes one page per list of rows, prepares, commits and cleans up. */
export async function writeAll(
  sink: Promise<SinkWriter>,
  columns: readonly Column[],
  ...pages: (readonly Row[])[]
): Promise<PreparedOutput> {
  const writer = await sink;
  try {
    await writer.begin(columns);
    for (const [index, rows] of pages.entries()) await writer.write(pageOf(index + 1, rows));
    const prepared = await writer.prepare();
    const commit = await commitOf(prepared);
    await prepared.commit?.(false);
    await commitUnlogged(commit);
    await prepared.cleanup();
    return prepared;
  } catch (failure) {
    await writer.abort();
    throw failure;
  }
}
