import { GateError, SinkError } from '../core/index.js';
import { readRegular } from '../store/index.js';
import type { TableRunContext } from './context.js';
import { checkRetained } from './retained-files.js';
import { manifestIn, type Manifest } from './manifest.js';
import { retained, type Mode } from './modes.js';
import type { Table } from './table.js';

/** The parts of a run's context used here. */
type BeforeContext = Pick<TableRunContext, 'at' | 'runLog' | 'warn'>;

/** The run that a new one follows. */
export interface Before {
  readonly run: string;
  readonly manifest: Manifest;
}

/**
 * Finds the published run, and checks that a new run can follow it.
 *
 * A run that keeps files of the table vouches for them in its own manifest. So the earlier manifest is checked against the log of runs, as in
 * `verify`, and the files against the manifest, as in `checkRetained`. A table that is not in the log is trusted.
 *
 * @returns `undefined` for a new table.
 * @throws {SinkError} `E_SINK_FOREIGN` when something else is at its path, or it has no readable manifest; `E_SINK_RUN` when there are runs but no
 * link to one of them, and files were to be kept.
 * @throws {GateError} `E_GATE_VERIFY` when the table is not what its run wrote.
 */
export async function runBefore(table: Table, mode: Mode, context: BeforeContext): Promise<Before | undefined> {
  const { at, runLog } = context;
  const run = await table.published();
  if (run === undefined) return lost(table, mode, context);
  const text = await readRegular(table.manifestPath(run)).then(
    (bytes) => bytes.toString('utf8'),
    () => undefined,
  );
  const manifest = text === undefined ? undefined : manifestIn(text);
  if (text === undefined || manifest?.run_id !== run) {
    const remedy = `return to an earlier run with leadstream rollback, or move ${table.path} and its run away`;
    throw new SinkError('E_SINK_FOREIGN', `${at}: the manifest of ${table.folder(run)} cannot be read; ${remedy}`);
  }
  if (mode === 'replace') return { run, manifest };
  await table.refuseLinksIn(run);
  const { difference } = (await runLog?.check(table.path, run, text)) ?? {};
  if (difference !== undefined)
    throw new GateError('E_GATE_VERIFY', `${at}: mode ${mode} cannot keep files of the table: ${difference}; see leadstream verify`);
  if (mode === 'append') await checkRetained(at, table.folder(run), retained(mode, manifest, []));
  return { run, manifest };
}

/**
 * Handles a missing link. If runs were published, it was lost, as in a backup without links. A run that replaces the whole table warns about it and
 * expires the newest of them, which is kept as after any run. A run that adds to the table is refused, because it cannot know what to add to.
 */
async function lost(table: Table, mode: Mode, { at, warn }: BeforeContext): Promise<Before | undefined> {
  const runs = await table.runsWithManifest();
  if (runs.length === 0) return undefined;
  const said = `${at}: ${table.path} is no longer a link to a run, but ${table.runs} has runs (${runs.join(', ')})`;
  if (mode !== 'replace') {
    const remedy = `publish one of them again with leadstream rollback ${table.path} --to RUN, or remove ${table.runs} to start a new table`;
    throw new SinkError('E_SINK_RUN', `${said}; ${remedy}`);
  }
  warn?.({ code: 'W_SINK_LINK', message: `${said}; the link is created again` });
  for (const run of runs.toReversed()) {
    const manifest = await table.manifest(run);
    if (manifest && (await table.isWhole(run))) return { run, manifest };
  }
  return undefined;
}
