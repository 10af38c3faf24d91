import { randomUUID } from 'node:crypto';
import { GateError, SinkError, version, type OutputColumn } from '../../core/index.js';
import { lostTo, type ObjectStore, writeOnce } from '../../store/index.js';
import type { CommittedRun, PartitionField, TableChange, TableFormat, TableVersion } from '../format.js';
import { inGroups } from '../in-groups.js';
import type { Manifest } from '../manifest.js';
import { manifestAt } from '../store-table.js';
import { type DeltaAction, actionsIn, adding, checkDeltaNames, fieldsFor, fieldsOf, folders } from './actions.js';
import { metaDataOf, removeOf, retyped } from './actions.js';
import { applyActions, type DeltaState, type RunState, unreachable } from './log.js';

/**
 * A Delta table: each version is one object that must not exist, `_delta_log/00000000000000000000.json` and so on. There are no checkpoints, which the protocol
 * makes optional: the log is read from its first version, which must be of leadstream.
 *
 * Earlier runs are as many as the newest run kept; their files stay in the store, so that readers can travel to them.
 *
 * @see https://github.com/delta-io/delta/blob/master/PROTOCOL.md
 */
export class DeltaFormat implements TableFormat<DeltaState> {
  readonly kind = 'delta';
  /** What was read of the log, which only grows. */
  #known: DeltaState | undefined;

  constructor(private readonly store: ObjectStore) {}

  async load(): Promise<TableVersion<DeltaState> | undefined> {
    const keys: string[] = [];
    for await (const { key } of this.store.list(logFolder)) keys.push(key);
    const commits = keys.filter((key) => /^\d{20}\.json$/.test(key.slice(logFolder.length)));
    if (keys.length > 0 && (commits.length === 0 || commits.some((key, index) => key !== commitKey(index))))
      throw this.#foreign('the log of the Delta table does not have all versions from 0 on');
    let state = nextOf(this.#known) > commits.length ? undefined : this.#known;
    for await (const body of inGroups(commits.slice(nextOf(state)), (key) => this.#read(key))) state = this.#applied(state, body);
    this.#known = state;
    if (state) await this.#checkRows(state.current);
    // Its default is true.
    if (state && state.current.metaData.configuration?.[logCleanup] !== 'false')
      throw this.#foreign(`the property ${logCleanup} of the Delta table lets others remove its log; set it to false`);
    return state && this.#versionOf(state);
  }

  async create(): Promise<void> {
    const remedy = 'is decoded by its readers; choose another path';
    if (this.store.root.includes('%')) throw new SinkError('E_SINK_PATH', `${this.store.root}: % in the path of a Delta table ${remedy}`);
  }

  check({ state }: TableVersion<DeltaState>, mode: Manifest['mode']): void {
    if (mode !== 'append') this.#refuseAppendOnly(state, `mode ${mode}`);
  }

  checkColumns(
    base: TableVersion<DeltaState> | undefined,
    columns: readonly OutputColumn[],
    partitions: readonly PartitionField[],
  ): undefined {
    checkDeltaNames(this.store.root, [...new Set([...columns.map(({ name }) => name), ...(base?.state.others ?? [])])]);
    const by = partitions.map(({ name }) => name);
    const fields = fieldsFor(columns);
    const known = base && fieldsOf(base.state.current.metaData);
    const other = fields.find(({ name, type }) => base?.state.others.has(name) && known?.get(name)?.type !== type);
    if (other) throw new GateError('E_GATE_SCHEMA', `${this.store.root}: others added the column ${other.name} as another type; rename it`);
    const problem = base && retyped(fields, by, base.state.partitionTypes);
    if (problem !== undefined) throw new GateError('E_GATE_SCHEMA', `${this.store.root}: ${problem}; give it another name`);
  }

  async commit(base: TableVersion<DeltaState> | undefined, change: TableChange): Promise<TableVersion<DeltaState>> {
    const { runId: run, manifest, sha256, keep, columns } = change;
    const by = manifest.partition_by;
    const before = base?.state;
    const removed = change.removed.map((name) => {
      const file = before?.current.files.get(name);
      if (!file) throw new Error(`${name} is not in the table`);
      return removeOf(file.add, manifest.compacted !== true && file.rows > 0);
    });
    const mode = manifest.mode === 'append' ? 'Append' : 'Overwrite';
    const operation = {
      operation: manifest.compacted ? 'OPTIMIZE' : manifest.mode === 'merge' ? 'MERGE' : 'WRITE',
      operationParameters: { mode, partitionBy: JSON.stringify(by) },
    };
    return this.#write(before, { run, sha256 }, keep, operation, [
      ...(before ? [] : [{ protocol: { minReaderVersion: 1, minWriterVersion: 2 } }]),
      ...metaDataOf(fieldsFor(columns), by, before?.current.metaData, before?.others),
      { txn: { appId: 'leadstream', version: before?.runs.size ?? 0, lastUpdated: Date.now() } },
      ...removed,
      ...change.added.map(adding(change)),
    ]);
  }

  async restore({ state }: TableVersion<DeltaState>, run: string): Promise<TableVersion<DeltaState>> {
    const to = state.kept.find((kept) => kept.run === run);
    if (!to) throw new SinkError('E_SINK_RUN', `${this.store.root}: the Delta table has not kept run ${run}`);
    this.#refuseAppendOnly(state, 'rollback');
    await this.#checkRows(to);
    const { files, metaData } = state.current;
    const added = [...to.files].filter(([name]) => !files.has(name));
    for await (const name of inGroups(added, async ([name]) => ((await this.store.find(name)) ? undefined : name))) {
      if (name !== undefined) throw new SinkError('E_SINK_RUN', `${this.store.root}: ${name} of run ${run} was deleted by another program`);
    }
    const operation = { operation: 'RESTORE', operationParameters: { version: String(to.version) } };
    return this.#write(state, to, state.keep, operation, [
      ...metaDataOf([...fieldsOf(to.metaData).values()], to.metaData.partitionColumns, metaData, state.others),
      ...[...files].flatMap(([name, file]) => (to.files.has(name) ? [] : [removeOf(file.add)])),
      ...added.map(([, { add }]) => ({ add: { ...add, dataChange: true } })),
    ]);
  }

  async expire({ state }: TableVersion<DeltaState>): Promise<readonly string[]> {
    return unreachable(state, Date.now());
  }

  /** Writes the next version and finds out whose it became. No other version can be this commit, which is never tried under another number. */
  async #write(before: DeltaState | undefined, by: CommittedRun, keep: number, operation: object, actions: readonly DeltaAction[]) {
    const key = commitKey(nextOf(before));
    const leadstream = { run: by.run, sha256: by.sha256, keep };
    const info = { timestamp: Date.now(), ...operation, isBlindAppend: false, engineInfo: `leadstream/${version}`, txnId: randomUUID() };
    const { current } = applyActions(this.store.root, before, nextOf(before), [{ commitInfo: { ...info, leadstream } }, ...actions]);
    const counts = { version: current.version, actions: 1 + actions.length, rows: current.rows };
    const all = [{ commitInfo: { ...info, leadstream: { ...leadstream, counts } } }, ...actions];
    let body = all.map((action) => `${JSON.stringify(action)}\n`).join('');
    if ((await writeOnce(this.store, key, body)) === undefined) {
      body = await this.#read(key);
      if (!actionsIn(body)?.some(({ commitInfo }) => commitInfo?.leadstream?.run === by.run)) throw lostTo(`${this.store.root}/${key}`);
    }
    this.#known = this.#applied(before, body);
    return this.#versionOf(this.#known);
  }

  #applied(before: DeltaState | undefined, body: string): DeltaState {
    const next = nextOf(before);
    const actions = actionsIn(body);
    if (!actions) throw this.#foreign(`${commitKey(next)} is not as the protocol of Delta has it`);
    return applyActions(this.store.root, before, next, actions);
  }

  #versionOf(state: DeltaState): TableVersion<DeltaState> {
    const { version: sequence, current, kept, runs } = state;
    const folderOf = folders(current.metaData);
    const files = [...current.files].map(([name, { add, rows }]) => ({ name, rows, bytes: add.size, folder: folderOf(add) }));
    return { sequence, current, kept, files, runs: [...runs], state };
  }

  #refuseAppendOnly({ current }: DeltaState, what: string): void {
    if (current.metaData.configuration?.['delta.appendOnly'] === 'true')
      throw this.#foreign(`the property delta.appendOnly of the Delta table allows no ${what}`);
  }

  /** Compares with the manifest, because runs of earlier releases did not count. @throws {GateError} `E_GATE_VERIFY`. */
  async #checkRows({ run, rows }: RunState): Promise<void> {
    const said = (await manifestAt(this.store, run))?.rows;
    if (said !== undefined && said !== rows)
      throw new GateError('E_GATE_VERIFY', `${this.store.root}: the Delta table has ${rows} rows, but run ${run} left ${said}`);
  }

  async #read(key: string): Promise<string> {
    const found = await this.store.read(key);
    if (!found) throw this.#foreign(`${key} was removed`);
    return found.bytes.toString('utf8');
  }

  #foreign(what: string): SinkError {
    return new SinkError('E_SINK_FOREIGN', `${this.store.root}: ${what}`);
  }
}

const logFolder = '_delta_log/';

const logCleanup = 'delta.enableExpiredLogCleanup';

function commitKey(of: number): string {
  return `${logFolder}${String(of).padStart(20, '0')}.json`;
}

function nextOf(state: DeltaState | undefined): number {
  return state ? state.version + 1 : 0;
}
