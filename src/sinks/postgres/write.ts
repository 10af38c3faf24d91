import { amountOf, LeadstreamError, type MergeCounts, type OutputColumn, SinkError } from '../../core/index.js';
import { deletedAt, MissingRows, refuseChanged, type RunFacts } from '../../lake/index.js';
import { type Session, transaction } from './connection.js';
import { type CopyFile, escaped } from './copy-file.js';
import { ledgerRuns, recordRun } from './ledger.js';
import { fit, type Fitted, type Found, inspect } from './table.js';
import { deletion, difference, quotedList, sameKey, stage, stageSql, statementsOf } from './sql.js';

/** What is written: the same for the transaction that counts and for the one that commits. */
export interface Writing extends Fitted {
  readonly file: CopyFile;
  /** The keys of rows that are deleted, and of those that were not read, and may be missing. */
  readonly keys: Readonly<Record<'gone' | 'unread', CopyFile>>;
}

/**
 * Counts what the run would do with its rows so far, in a transaction that changes nothing, and finds out which rows are missing.
 *
 * @throws {SinkError} `E_SINK_KEY` for two rows of one key. @throws {GateError} `E_GATE_MERGE`, `E_GATE_MISSING`.
 */
export async function countChanges(writing: Writing): Promise<MergeCounts> {
  const { options, context, target, found, known, mode, on_missing, file, keys, key } = writing;
  const { at, presence } = context;
  const missing = on_missing === 'keep' ? undefined : new MissingRows(at, presence);
  const none = { before: 0, inserted: file.rows, changed: 0, unchanged: 0, deleted: 0, ...(on_missing === 'mark' ? { marked: 0 } : {}) };
  if (!found.hasTable) return none;
  // Rows that were marked before are not marked again, but can be deleted.
  const isLeft = known.marks && on_missing === 'mark' ? `kept.${deletedAt.name} IS NULL` : 'true';
  const { unmarked, ...counts } = await transaction(options, context, 'look', async (session) => {
    const all = `SELECT count(*) AS before, count(*) FILTER (WHERE ${isLeft}) AS unmarked FROM ${target.name} AS kept`;
    const rows = await session.counts(['before', 'unmarked'], all);
    if (mode === 'replace') return { ...none, ...rows, deleted: rows.before };
    await load(session, writing, writing.columns, file);
    const twice = await session.query(`SELECT FROM ${stage} GROUP BY ${quotedList(key)} HAVING count(*) > 1 LIMIT 1`);
    if (twice.rows.length > 0)
      throw new SinkError('E_SINK_KEY', `${at}: two rows have the same key, but ${mode} takes one row per key (${key.join(' + ')})`);
    const isNew = `kept.${quotedList(key.slice(0, 1))} IS NULL`;
    const differs = difference(writing, known);
    const compared = `
      SELECT count(*) FILTER (WHERE ${isNew}) AS inserted, count(*) FILTER (WHERE NOT ${isNew} AND (${differs})) AS changed
      FROM ${stage} AS stage LEFT JOIN ${target.name} AS kept ON ${sameKey(key)}`;
    const { inserted, changed } = await session.counts(['inserted', 'changed'], compared);
    if (missing) await readMissing(session, writing, isLeft, missing);
    return { ...none, ...rows, inserted, changed, unchanged: file.rows - inserted - (mode === 'merge' ? changed : 0) };
  });
  if (mode === 'merge') refuseChanged(at, counts, options.max_changed ?? 1, presence);
  if (missing) {
    const verdict = await missing.verdict(found.last?.facts);
    if (verdict === true) keys.gone.include(keys.unread);
    else if (verdict !== false) await keys.gone.appendLines([...verdict].flatMap(([line, isMissing]) => (isMissing ? [line] : [])));
    missing.refuseMany(keys.gone.rows, options.max_deleted, unmarked);
  }
  if (on_missing === 'mark') return { ...counts, marked: keys.gone.rows };
  return { ...counts, deleted: counts.deleted + keys.gone.rows };
}

/** Keeps the keys of rows that the run did not write. */
async function readMissing(session: Session, { target, key, keys }: Writing, isLeft: string, missing: MissingRows): Promise<void> {
  const where = `(${quotedList(key)}) IS NOT NULL AND NOT EXISTS (SELECT FROM ${stage} AS stage WHERE ${sameKey(key)}) AND ${isLeft}`;
  await session.query(`DECLARE missing NO SCROLL CURSOR FOR SELECT ${quotedList(key)} FROM ${target.name} AS kept WHERE ${where}`);
  for (;;) {
    const { rows } = await session.query('FETCH 10000 FROM missing');
    if (rows.length === 0) return;
    const lines: Record<ReturnType<MissingRows['take']>, string[]> = { read: [], unread: [], rejected: [] };
    for (const row of rows) {
      const texts = key.map((name) => String(row[name]));
      const line = `${texts.map(escaped).join('\t')}\n`;
      lines[missing.take(line, texts)].push(line);
    }
    await keys.gone.appendLines(lines.read);
    await keys.unread.appendLines(lines.unread);
  }
}

/**
 * Commits the run, in one transaction. After a lost answer, the table of runs tells whether it was committed.
 *
 * @throws {LeadstreamError} `E_RUN_LOCKED` if the table is not as the run found it.
 */
export async function commitChanges(writing: Writing, counts: MergeCounts, facts: RunFacts): Promise<void> {
  const { arriving, options, context, target, found, creating, altering, mode, columns, marks, on_missing } = writing;
  const { at, runId } = context;
  const change = (work: (session: Session, now: Found) => Promise<void>) =>
    transaction(options, context, 'change', async (session, mayBeDone) => {
      // A statement of its own: what follows sees what others committed before they let go of the lock.
      await session.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`leadstream ${target.name}`]);
      const now = await inspect(session, options, at);
      if (mayBeDone && now.has_ledger && (await ledgerRuns(session, target)).some(({ run }) => run === runId)) return;
      // Without a lost answer, it is that of another output.
      if (now.last?.run === runId) throw new SinkError('E_SINK_CONFIG', `${at}: another output of the pipeline writes ${target.name}, too`);
      if (now.last?.run !== found.last?.run || now.oid !== found.oid)
        throw new LeadstreamError('E_RUN_LOCKED', `${at}: another run has written or made ${target.name} since this one began`);
      await fit(session, now, options, context, arriving);
      await work(session, now);
    });
  // In a transaction of its own, since it keeps readers out.
  const alter = ["SET LOCAL lock_timeout = '10s'", ...altering].join('; ');
  if (altering.length > 0) await change(async (session) => void (await session.query(alter)));
  await change(async (session, { last, hasRows }) => {
    await session.query(creating.join('; '));
    await write(session, writing, counts);
    const own = mode === 'replace' || options.adopt || (last ? last.facts.own : !hasRows);
    const written = on_missing === 'mark' ? [...columns, deletedAt] : columns;
    const known = { ...facts, undeclared: facts.undeclared ?? [], reads: facts.reads ?? {}, schema: written, own, marks };
    await recordRun(session, target, { run: runId, pipeline: facts.pipeline, mode, ...counts, facts: known });
  });
}

async function write(session: Session, writing: Writing, counts: MergeCounts): Promise<void> {
  const { target, mode, on_missing, columns, file, keys } = writing;
  const run = async (what: keyof MergeCounts, sql: string | undefined, data?: CopyFile) => {
    if (sql === undefined) return;
    const rows = data ? await session.copy(sql, data.chunks()) : (await session.query(sql)).rowCount;
    if (rows === counts[what]) return;
    const message = `another program, or a trigger, changed ${target.name}: ${rows} rows ${what}, but ${counts[what]} counted`;
    throw new LeadstreamError('E_RUN_LOCKED', `${writing.context.at}: ${message}`);
  };
  const { deleted, changed, inserted } = statementsOf(writing);
  await run('deleted', deleted);
  const names = quotedList(columns.map(({ name }) => name));
  if (mode === 'replace') return run('inserted', `COPY ${target.name} (${names}) FROM STDIN`, file);
  await load(session, writing, columns, file);
  await run('changed', changed);
  await run('inserted', inserted);
  if (keys.gone.rows === 0) return;
  const identifying = writing.key.flatMap((wanted) => columns.filter(({ name }) => name === wanted));
  await load(session, writing, identifying, keys.gone);
  await run(on_missing === 'mark' ? 'marked' : 'deleted', deletion(writing));
}

async function load(session: Session, { context }: Writing, columns: readonly OutputColumn[], file: CopyFile): Promise<void> {
  await session.query(stageSql(columns));
  const rows = await session.copy(`COPY ${stage} FROM STDIN`, file.chunks());
  if (rows !== file.rows)
    throw new SinkError('E_SINK_VERIFY', `${context.at}: ${amountOf(file.rows, 'row')} were sent, but ${rows} arrived`);
  await session.query(`ANALYZE ${stage}`);
}
