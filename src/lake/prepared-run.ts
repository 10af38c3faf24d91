import { rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { OutputColumn } from '../core/index.js';
import { attempt, makeFolders, type Action } from '../store/index.js';
import { openTo } from './folders.js';
import type { KeyIndex } from './key-index.js';
import type { ManifestFile } from './manifest.js';
import { prune } from './prune.js';
import type { RunFacts } from './published.js';
import type { Run } from './run.js';
import { stageKeys, stageManifest, stageRetained, stageSuccess, retainedIn } from './stage.js';

/** What a run has written. */
export interface Written {
  readonly columns: readonly OutputColumn[];
  readonly partitions: readonly string[];
  readonly written: readonly ManifestFile[];
  /** The actions that commit the files. */
  readonly actions: readonly Action[];
  /** Files of the previous run that stay in the table. */
  readonly retained: readonly ManifestFile[];
  readonly unchanged: number;
  readonly changed: number;
  readonly index: KeyIndex | undefined;
  readonly key: readonly string[];
}

/** A run with complete files; only the manifest and the commit are missing. */
export class PreparedRun {
  readonly rows: number;
  readonly bytes: number;
  /** Number of rows the table will have. */
  readonly total: number;
  readonly unchanged: number;
  readonly changed: number;
  readonly path: string;

  constructor(
    private readonly run: Run,
    private readonly done: Written,
  ) {
    this.rows = sum(done.written, 'rows');
    this.bytes = sum(done.written, 'bytes');
    this.total = this.rows + sum(done.retained, 'rows');
    this.unchanged = done.unchanged;
    this.changed = done.changed;
    this.path = run.table.path;
  }

  /** Writes the manifest. @returns The actions that commit the run, in order. The link comes last, except for the expiry of the previous run. */
  async actions(facts: RunFacts): Promise<readonly Action[]> {
    const { table, options, context, before } = this.run;
    const { runId } = context;
    const { permissions } = options;
    const { columns, partitions, written, index, key } = this.done;
    const folder = table.folder(runId);
    const kept = retainedIn(runId, this.done.retained, written.length);
    const links = before ? await stageRetained(table.folder(before.run), folder, kept, permissions) : [];
    const keys = index && (await stageKeys(table.keysPath(runId), index, key, permissions));
    const all = [...kept.map(({ file }) => file), ...written].sort((a, b) => (a.name < b.name ? -1 : 1));
    const success = options.success_file ? [await stageSuccess(folder, permissions)] : [];
    const [manifest, text] = await stageManifest(table.manifestPath(runId), permissions, {
      ...describe(facts),
      ...(this.#isPart(facts) ? { partial: true } : {}),
      run_id: runId,
      mode: options.mode,
      replaced: before?.run,
      partition_by: [...partitions],
      rows: sum(all, 'rows'),
      bytes: sum(all, 'bytes'),
      run: { written: this.rows, unchanged: this.unchanged, changed: this.changed },
      files: all,
      schema: columns.map((column) => ({ ...column })),
      keys: keys?.entry,
      output: context.at,
      success_file: options.success_file,
    });
    await context.runLog?.record(table.path, runId, text);
    const files = [...links, ...this.done.actions, ...success, ...(keys ? [keys.action] : []), manifest];
    return [...files, await table.linkTo(runId), ...(await table.expire(before?.run))];
  }

  /** Whether the table becomes partial. Rows added to a complete table, or replacing partitions of it, do not make it so. */
  #isPart({ partial = false }: RunFacts): boolean {
    const { options, before } = this.run;
    return partial && (options.mode === 'replace' || !before || before.manifest.partial === true);
  }

  /** Removes the runs that are no longer kept. */
  cleanup(): Promise<void> {
    const { table, context, before, options } = this.run;
    return prune(table, context.runId, before?.run, options.keep);
  }

  /** Moves the files to where a person can inspect them, instead of a commit. @returns Their location. */
  async quarantine(): Promise<string> {
    const { table, context, options } = this.run;
    const folder = table.folder(context.runId);
    const path = join(table.quarantine, context.runId);
    await makeFolders(table.quarantine, dirname(table.path));
    await openTo(table.quarantine, options.permissions);
    await attempt('E_SINK_WRITE', `cannot quarantine ${folder}`, () => rename(folder, path));
    return path;
  }
}

function describe(facts: RunFacts) {
  return {
    version: 1 as const,
    pipeline: facts.pipeline,
    fingerprint: facts.fingerprint,
    collection: facts.collection,
    started_at: facts.startedAt,
    finished_at: new Date().toISOString(),
    pages: facts.pages,
    consistency: facts.consistency,
    undeclared: [...(facts.undeclared ?? [])],
    reads: { ...facts.reads },
    books: { ...facts.books },
  };
}

function sum(files: readonly ManifestFile[], what: 'rows' | 'bytes'): number {
  return files.reduce((total, file) => total + file[what], 0);
}
