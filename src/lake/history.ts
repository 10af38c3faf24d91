import { SinkError } from '../core/index.js';
import { checkUsage } from '../options/index.js';
import { Stores } from '../store/index.js';
import type { FoundVersion } from './format.js';
import { accessParameters, storeTable, type TableAccess, tableAt } from './formats.js';
import type { Manifest } from './manifest.js';
import { type Pointer, runsOf } from './pointer.js';
import { RunLog, type Evidence } from './run-log.js';
import type { StoreTable } from './store-table.js';
import { verifyTable, type VerifyOptions } from './verify.js';
import { show } from './view.js';

/** A run of a table that still exists. */
export interface TableRun {
  readonly run: string;
  /**
   * `published`: what readers see; `kept`: for a rollback; `unfinished`: neither, so the next run recovers or removes it; `unchanged`: the
   * last merge found nothing to change in what is published, and wrote nothing.
   */
  readonly state: 'published' | 'kept' | 'unfinished' | 'unchanged';
  readonly manifest: Manifest;
}

/**
 * Lists the runs of a table, newest first. If its link was lost, none of them is published.
 *
 * @throws {SinkError} `E_SINK_FOREIGN` when there is no such table.
 *
 * @example
 * for (const { run, state } of await tableRuns('lake/leads')) console.log(run, state); // … published, … kept
 */
export async function tableRuns(path: string, { stores = new Stores() }: TableAccess = {}): Promise<readonly TableRun[]> {
  checkUsage('tableRuns', accessParameters, { path, options: { stores } });
  const table = await tableAt(path, stores);
  return runsIn(table, await table.version());
}

export async function runsIn(table: StoreTable, version: FoundVersion): Promise<readonly TableRun[]> {
  const { current, kept, unfinished = [] } = version;
  const found: TableRun[] = [];
  const unchanged = await table.unchanged(version);
  if (unchanged) found.push({ run: unchanged.run_id, state: 'unchanged', manifest: unchanged });
  for (const each of [...(current ? [current] : []), ...kept, ...unfinished]) {
    const { manifest } = await table.manifest(each);
    const state = each === current ? 'published' : kept.includes(each) ? 'kept' : 'unfinished';
    if (manifest) found.push({ run: each.run, state, manifest });
  }
  return found.sort((a, b) => (a.run < b.run ? 1 : -1));
}

/** What stands for the published run, to accept it after others set the table back. */
const acceptance = 'CURRENT';

/**
 * Returns to an earlier run, after verifying that run byte by byte. This also restores a lost link, in which case the run must be named.
 * The caller holds the lock of the table.
 *
 * @param to Default: the run that the published one replaced; never a later one.
 * @returns `from`, the run published until now (`undefined` if the link was lost), `evidence` that the manifest of `to` is unchanged, and
 * the actions that remain to be carried out.
 * @throws {SinkError} `E_SINK_FOREIGN` when there is no such table; `E_SINK_RUN` when there is no such run, or it is damaged.
 * @throws {LeadstreamError} `E_RUN_LOCKED` if another writer was faster.
 */
export async function rollBack(table: StoreTable, to: string | undefined, options: VerifyOptions) {
  const { path } = table;
  const { together } = table.format;
  if (together !== undefined)
    throw new SinkError('E_SINK_RUN', `${path} goes back with those that are published together with it: leadstream rollback ${together}`);
  const log = RunLog.at(options.stateDir);
  await table.format.show?.();
  const version = await table.version();
  const from = version.current?.run;
  const restored = async (run: string, evidence: Evidence) => ({
    from,
    to: run,
    evidence,
    actions: await table.restore(version, run, log),
  });
  if (to === acceptance && from !== undefined) return restored(from, 'none');
  if (from !== undefined && version.interrupted !== undefined) {
    const remedy = 'recover it first with leadstream run --recover and the --state-dir of that run, or run the pipeline again';
    throw new SinkError('E_SINK_RUN', `${path}: the commit of run ${version.interrupted} was interrupted; ${remedy}`);
  }
  const runs = await runsIn(table, version);
  // Without a link, all runs are kept ones.
  const kept = runs.filter(({ state }) => from === undefined || state === 'kept').map(({ run }) => run);
  const target = to ?? replacedBy(from, runs, kept, path);
  return restored(target, (await undamaged(path, target, from, kept, options)).evidence);
}

/** As `rollBack`, for all tables that are published together. */
export async function rollBackAll(pointer: Pointer, to: string | undefined, options: VerifyOptions) {
  await show(pointer);
  const base = await pointer.read();
  if (base === undefined) throw new SinkError('E_SINK_FOREIGN', `${pointer.path} has no tables any more`);
  const { current } = base.content;
  const target = to === acceptance ? current : pointer.keptAt(base, to);
  let evidence: Evidence = 'sha256';
  for (const [table, { run }] of Object.entries(target.tables)) {
    if (run === current.tables[table]?.run) continue;
    const found = await undamaged(`${pointer.path}/${table}`, run, undefined, [run], options);
    if (found.evidence === 'none') evidence = 'none';
  }
  const { content } = target === current ? base : await pointer.restore(base, target);
  for (const [name, { run }] of Object.entries(target.tables)) {
    const table = storeTable((options.stores ?? new Stores()).at(`${pointer.path}/${name}`), 'plain');
    await table.recordReturn(run, content, RunLog.at(options.stateDir));
  }
  await show(pointer);
  return { from: runsOf(current.tables).at(-1), to: runsOf(target.tables).at(-1) ?? '', evidence };
}

async function undamaged(path: string, run: string, published: string | undefined, kept: readonly string[], options: VerifyOptions) {
  if (run === published) throw new SinkError('E_SINK_RUN', `${path}: run ${run} is already published`);
  if (!kept.includes(run)) throw new SinkError('E_SINK_RUN', `${path} has no kept run ${run}; kept runs: ${kept.join(', ') || 'none'}`);
  const found = await verifyTable(path, { ...options, run });
  if (found.differences.length === 0) return found;
  throw new SinkError('E_SINK_RUN', `${path}: run ${run} is damaged: ${found.differences.join('; ')}`);
}

/** Returns the run that the published one replaced. Any other may itself have been rolled back, so it must be named. */
function replacedBy(published: string | undefined, runs: readonly TableRun[], kept: readonly string[], path: string): string {
  const replaced = runs.find(({ run }) => run === published)?.manifest.replaced;
  if (replaced !== undefined && kept.includes(replaced)) return replaced;
  const others = kept.length === 0 ? '' : `; name the run with --to: ${kept.join(', ')}`;
  if (published === undefined) throw new SinkError('E_SINK_RUN', `${path} is no longer a link to a run${others}`);
  const before = replaced === undefined ? 'it replaced none' : `the run that it replaced, ${replaced}, is no longer kept`;
  throw new SinkError('E_SINK_RUN', `${path} has no run before the published one, ${published}: ${before}${others}`);
}
