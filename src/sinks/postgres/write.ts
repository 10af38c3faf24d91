import { setTimeout as wait } from 'node:timers/promises';
import { amountOf, LeadstreamError, type MergeCounts, type OutputColumn, SinkError, type SourcePresence } from '../../core/index.js';
import { deletedAt, MissingRows, refuseChanged, type RunFacts } from '../../lake/index.js';
import type { Address } from './address.js';
import { DatabaseFailure, type Session, transaction } from './connection.js';
import { type CopyFile, escaped } from './copy-file.js';
import { isCommitted, ledgerRuns, lockTable, recordRun } from './ledger.js';
import { createStage, type Found, goneSql, inspect, isOwnTable, type Making, refuseConsequences } from './table.js';
import { type Change, columnsOf, deletion, difference, gone, quotedList, sameKey, stage, statementsOf } from './sql.js';

/** What is written: the same for the transaction that counts and for the one that commits. */
export interface Writing extends Change {
  readonly at: string;
  readonly address: Address;
  readonly found: Found;
  readonly making: Making;
  readonly file: CopyFile;
  /** The keys of rows that may be deleted. */
  readonly gone: CopyFile;
  readonly runId: string;
  readonly signal: AbortSignal | undefined;
  readonly presence: SourcePresence | undefined;
  readonly adopt: boolean;
  readonly max_deleted: number;
  readonly max_changed: number | undefined;
}

export interface Counted extends Required<MergeCounts> {
  /** Whether rows are deleted that were too many to be requested one by one. */
  readonly isAll: boolean;
}

/**
 * Counts what the run would do, in a transaction that changes nothing, and finds out which rows are missing.
 *
 * @throws {SinkError} `E_SINK_KEY` for two rows of one key. @throws {GateError} `E_GATE_MERGE`, `E_GATE_MISSING`.
 */
export async function countChanges(writing: Writing): Promise<Counted> {
  const { at, address, target, found, mode, onMissing, file, key, columns, marks, signal } = writing;
  const missing = onMissing === 'keep' ? undefined : new MissingRows<string>(at, writing.presence);
  const left = { read: 0, unread: 0 };
  const nothing = { isAll: false, changed: 0, unchanged: 0, deleted: 0, marked: 0 };
  const isFound = ({ name }: OutputColumn) => found.columns.some((column) => column.name === name);
  const isMarked = marks && isFound(deletedAt);
  // Rows that were marked before are not marked again, but can be deleted.
  const leavesMarked = isMarked && onMissing === 'mark';
  const { counts, unmarked } = await transaction(address, 'look', signal, async (session) => {
    const unmarkedRows = leavesMarked ? `count(*) FILTER (WHERE ${deletedAt.name} IS NULL)` : 'count(*)';
    const rows =
      found.kind === null
        ? { before: 0, unmarked: 0 }
        : await session.one(`SELECT count(*) AS before, ${unmarkedRows} AS unmarked FROM ${target.name}`);
    const [before, unmarked] = [Number(rows['before']), Number(rows['unmarked'])];
    if (mode === 'replace') return { counts: { ...nothing, before, inserted: file.rows, deleted: before }, unmarked };
    await loadStage(session, writing);
    const twice = await session.query(`SELECT FROM ${stage} GROUP BY ${quotedList(key)} HAVING count(*) > 1 LIMIT 1`);
    if (twice.rows.length > 0)
      throw new SinkError('E_SINK_KEY', `${at}: two rows have the same key, but ${mode} takes one row per key (${key.join(' + ')})`);
    if (found.kind === null) return { counts: { ...nothing, before, inserted: file.rows }, unmarked };
    const isNew = `kept.${quotedList(key.slice(0, 1))} IS NULL`;
    const differs = difference({ ...writing, marks: isMarked }, columns.filter(isFound));
    const compared = await session.one(`
      SELECT count(*) FILTER (WHERE ${isNew}) AS inserted, count(*) FILTER (WHERE NOT ${isNew} AND (${differs})) AS changed
      FROM ${stage} AS stage LEFT JOIN ${target.name} AS kept ON ${sameKey(key)}`);
    const [inserted, changed] = [Number(compared['inserted']), Number(compared['changed'])];
    if (missing) await readMissing(session, missing);
    return {
      counts: { ...nothing, before, inserted, changed, unchanged: file.rows - inserted - (mode === 'merge' ? changed : 0) },
      unmarked,
    };
  });
  if (mode === 'merge') refuseChanged(at, counts, writing.max_changed ?? 1, writing.presence);
  if (!missing) return counts;
  const verdict = await missing.verdict(found.last?.facts);
  const isAll = verdict === true;
  const proven = typeof verdict === 'boolean' ? [] : [...verdict].flatMap(([line, isMissing]) => (isMissing ? [`${line}\tfalse\n`] : []));
  await writing.gone.append(Buffer.from(proven.join('')), proven.length);
  const deleted = left.read + (isAll ? left.unread : proven.length);
  missing.refuseMany(deleted, writing.max_deleted, unmarked);
  return { ...counts, [onMissing === 'mark' ? 'marked' : 'deleted']: deleted, isAll };

  /** Keeps the keys of rows that the run did not write, with whether they were not read. */
  async function readMissing(session: Session, rows: MissingRows<string>): Promise<void> {
    const isLeft = `(${quotedList(key)}) IS NOT NULL AND NOT EXISTS (SELECT FROM ${stage} AS stage WHERE ${sameKey(key)})`;
    const where = leavesMarked ? `${isLeft} AND kept.${deletedAt.name} IS NULL` : isLeft;
    await session.query(`DECLARE missing NO SCROLL CURSOR FOR SELECT ${quotedList(key)} FROM ${target.name} AS kept WHERE ${where}`);
    for (;;) {
      const fetched = await session.query('FETCH 10000 FROM missing');
      if (fetched.rows.length === 0) return;
      const lines = fetched.rows.flatMap((row) => {
        const texts = key.map((name) => String(row[name]));
        const line = texts.map(escaped).join('\t');
        const state = rows.take(line, texts);
        if (state === 'rejected') return [];
        left[state] += 1;
        return [`${line}\t${state === 'unread'}\n`];
      });
      await writing.gone.append(Buffer.from(lines.join('')), lines.length);
    }
  }
}

/**
 * Commits the run, in one transaction; one that lost a race or its connection is repeated. After a lost answer, the table of runs tells
 * whether it was committed.
 *
 * @throws {LeadstreamError} `E_RUN_LOCKED` if the table is not as the run found it.
 * @throws {SinkError} `E_SINK_DATABASE` if it cannot be told whether it is committed.
 */
export async function commitChanges(writing: Writing, counts: Counted, facts: RunFacts): Promise<void> {
  let undecided: DatabaseFailure | undefined;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await commitOnce({ ...writing, signal: undecided ? undefined : writing.signal }, counts, facts, undecided !== undefined);
    } catch (failure) {
      if (!(failure instanceof DatabaseFailure)) throw failure;
      if (failure.kind === 'undecided') undecided = failure;
      if (mayPass(failure, writing) && attempt < waitsMs.length) {
        await wait(waitsMs[attempt]);
        continue;
      }
      if (undecided === undefined) throw failure;
      const message = `${undecided.message} during the commit, so it is unknown whether the run is committed; the next run finds out`;
      throw new SinkError('E_SINK_DATABASE', `${writing.at}: ${message}`);
    }
  }
}

/** Before the second attempt and those after it. */
const waitsMs = [100, 1_000, 5_000];

/** Whether another attempt may succeed. Two rows of one key that replace all others are the run's own; two runs may create one schema. */
function mayPass({ kind, state }: DatabaseFailure, { mode, making }: Writing): boolean {
  const isRace = state === '23505' && (mode !== 'replace' || making.create.length > 0);
  return kind !== 'refused' || state === '40P01' || state === '40001' || isRace;
}

/** @param mayBeDone Whether the answer to an earlier commit was lost. Otherwise, a row of this run there is that of another output. */
async function commitOnce(writing: Writing, counts: Counted, facts: RunFacts, mayBeDone: boolean): Promise<void> {
  const { at, address, target, found, making, runId, adopt, signal } = writing;
  const isOpen = async (session: Session) => {
    await lockTable(session, target);
    const hasLedger = found.has_ledger || (await session.one('SELECT to_regclass($1) AS found', [target.ledger]))['found'] !== null;
    if (mayBeDone && hasLedger && (await isCommitted(session, target, runId))) return false;
    const [last] = hasLedger ? await ledgerRuns(session, target, 1) : [];
    if (last?.run === found.last?.run) return true;
    if (last?.run === runId) throw new SinkError('E_SINK_CONFIG', `${at}: another output of the pipeline writes ${target.name}, too`);
    throw new LeadstreamError('E_RUN_LOCKED', `${at}: another run has written ${target.name} since this one began`);
  };
  if (making.alter.length > 0) {
    // In a transaction of its own, since it keeps readers out.
    await transaction(address, 'change', signal, async (session) => {
      if (!(await isOpen(session))) return false;
      for (const sql of ["SET LOCAL lock_timeout = '10s'", ...making.alter]) await session.query(sql);
      return true;
    });
  }
  await transaction(address, 'change', signal, async (session) => {
    if (!(await isOpen(session))) return false;
    refuseConsequences(writing, await inspect(session, target, at), at);
    for (const sql of making.create) await session.query(sql);
    await write(session, writing, counts);
    const own = isOwnTable(writing, found, adopt);
    const { columns, marks, onMissing } = writing;
    const written = columnsOf({ columns, marks: onMissing === 'mark' });
    await recordRun(session, writing, runId, counts, { columns: written, own, marks }, facts);
    return true;
  });
}

async function write(session: Session, writing: Writing, counts: Counted): Promise<void> {
  const { at, target, mode, onMissing, columns, file, gone: keys } = writing;
  const run = async (what: keyof MergeCounts, sql: string | undefined) => {
    if (sql !== undefined) check(what, (await session.query(sql)).rowCount);
  };
  const check = (what: keyof MergeCounts, rows: number | null) => {
    if (rows === counts[what]) return;
    const message = `another program, or a trigger, changed ${target.name}: ${rows} rows ${what}, but ${counts[what]} counted`;
    throw new LeadstreamError('E_RUN_LOCKED', `${at}: ${message}`);
  };
  const { deleted, changed, inserted } = statementsOf(writing);
  await run('deleted', deleted);
  if (mode === 'replace') {
    const names = quotedList(columns.map(({ name }) => name));
    check('inserted', await session.copy(`COPY ${target.name} (${names}) FROM STDIN`, file.chunks()));
    return;
  }
  await loadStage(session, writing);
  await run('changed', changed);
  await run('inserted', inserted);
  if (keys.rows === 0) return;
  await session.query(goneSql(writing));
  await session.copy(`COPY ${gone} FROM STDIN`, keys.chunks());
  await session.query(`ANALYZE ${gone}`);
  await run(onMissing === 'mark' ? 'marked' : 'deleted', deletion(writing, counts.isAll));
}

async function loadStage(session: Session, writing: Writing): Promise<void> {
  const { at, file } = writing;
  await createStage(session, writing);
  const rows = await session.copy(`COPY ${stage} FROM STDIN`, file.chunks());
  if (rows !== file.rows) throw new SinkError('E_SINK_VERIFY', `${at}: ${amountOf(file.rows, 'row')} were sent, but ${rows} arrived`);
  await session.query(`ANALYZE ${stage}`);
}
