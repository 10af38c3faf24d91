import type { z } from 'zod';
import { amountOf, defined, type MergeCounts, SinkError, type Column } from '../../core/index.js';
import { scratchFolder } from '../../engine/index.js';
import type { RunFacts } from '../../lake/index.js';
import { openInCode } from '../alone.js';
import { checkKeyed, keyFields } from '../keyed.js';
import { checkColumns } from '../options.js';
import { project } from '../projection.js';
import { builtInSink, type DatabaseTable, PhasedWriter, type PreparedOutput, type SinkContext, type SinkDefinition } from '../sink.js';
import { type SinkWriter, writtenColumns } from '../sink.js';
import { addressOf, secretPartsOf } from './address.js';
import { transaction, translated } from './connection.js';
import { CopyFile, CopyFormat } from './copy-file.js';
import { ledgerRuns, publishedBy } from './ledger.js';
import { databasePlace, postgresConfig, type PostgresConfig } from './options.js';
import { type Change, targetOf } from './sql.js';
import { fit, hasMarks, inspect, isForeign } from './table.js';
import { commitChanges, countChanges, type Writing } from './write.js';

/** The options of `postgres`, named as in a pipeline file. The reference of pipeline files explains each of them. */
export type PostgresOptions = z.input<ReturnType<typeof postgresConfig>>;

/**
 * Writes rows to a table of PostgreSQL 13 or newer, in one transaction after the last row. Needs the packages `pg` and `pg-copy-streams`.
 *
 * Flags become boolean, whole numbers bigint, decimals double precision, instants timestamptz, days date, texts text.
 *
 * @returns A writer that keeps the rows in a private file until the commit.
 * @throws {SinkError} `E_SINK_CONFIG` for invalid options, and for a table that does not fit; `E_SINK_AUTH`; `E_SINK_DATABASE` without a
 * connection.
 *
 * @example
 * const out = await postgres({ url: process.env.DATABASE_URL ?? '', table: 'crm.leads', mode: 'append', create: true });
 */
export async function postgres(options: PostgresOptions, context: Partial<SinkContext> = {}): Promise<SinkWriter> {
  return openInCode(postgresSink, options, context);
}

export const postgresSink: SinkDefinition<'postgres', PostgresConfig> = builtInSink({
  name: 'postgres',
  summary: 'Writes a table of PostgreSQL, in one transaction after the last row.',
  config: postgresConfig,
  examples: [
    { url: '${DATABASE_URL}', table: 'crm.leads', create: true },
    { url: '${DATABASE_URL}', table: 'leads', mode: 'append', key: ['lead_id'], columns: ['lead_id', 'zipcode'] },
  ],
  secrets: [{ path: ['url'], parts: secretPartsOf }],
  check(options, arriving, plan) {
    checkColumns(options.columns, arriving, plan);
    checkKeyed(options, arriving, plan);
  },
  adds: ({ mode }) => mode !== 'replace',
  output: () => undefined,
  database: (options) => {
    const place = databasePlace(options);
    return place === undefined ? undefined : tableOf(options, place);
  },
  async open(options, context) {
    const { at, planned, runId, signal, presence } = context;
    const { adopt, max_deleted, max_changed } = options;
    // What does not fit is known before the first request, but for fields that the service sends undeclared.
    const first = await look(options, context, planned);
    const [file, gone] = [await CopyFile.open(context.scratch ?? scratchFolder()), await CopyFile.open(context.scratch ?? scratchFolder())];
    const close = async () => void (await Promise.all([file.close(), gone.close()]));
    return new PhasedWriter(at, {
      earlier: first.found.last && publishedBy(first.found.last),
      async begin(arriving) {
        const { found, fitting } = first.fitting && arriving.length === planned?.length ? first : await look(options, context, arriving);
        if (!fitting) throw new Error('columns were not compared');
        const nul = 'has a NUL character, which PostgreSQL cannot represent';
        const { columns, take } = project(arriving, { ...options, required: fitting.fields, nul }, context);
        const format = new CopyFormat(columns);
        const writing: Writing = {
          ...fitting.change,
          making: fitting.making,
          // Whoever wrote since then is noticed at the commit.
          found: { ...found, last: first.found.last },
          ...{ at, address: first.address, runId, signal, presence, adopt, max_deleted, max_changed, file, gone },
        };
        return {
          async write(page) {
            const batch = take(page);
            await file.append(format.rows(batch), batch.rows);
          },
          prepare: () => prepared(writing, databasePlace(options), close),
        };
      },
      async abort(underWay) {
        await underWay;
        await close();
      },
    });
  },
});

/** Looks at the database of a run, which is not connected while it reads. @param arriving Columns to be compared with it, if known. */
async function look(
  options: PostgresConfig,
  context: Pick<SinkContext, 'at' | 'signal' | 'key' | 'presence'>,
  arriving?: readonly Column[],
) {
  const { at, signal } = context;
  const { mode, on_missing: onMissing, ignore = [] } = options;
  const [address, target] = [addressOf(options.url), targetOf(options.table)];
  if ('problem' in address) throw new SinkError('E_SINK_CONFIG', `${at}: url ${address.problem}`);
  return translated(at, () =>
    transaction(address, 'look', signal, async (session) => {
      const found = await inspect(session, target, at);
      if (!arriving) return { address, target, found };
      const columns = writtenColumns({ ...options, on_missing: 'keep' }, arriving);
      // A table that is replaced needs a key only to be created with it.
      const fields = mode === 'replace' && found.kind !== null && !options.create ? [] : keyFields(arriving, options, context);
      const namesOf = (wanted: readonly string[]) =>
        wanted.flatMap((field) => columns.find((column) => column.field === field)?.name ?? []);
      const change: Change = {
        ...{ target, mode, onMissing, columns, marks: onMissing === 'mark' || (mode !== 'replace' && hasMarks(found, columns)) },
        ...{ key: namesOf(fields), ignored: namesOf(ignore) },
      };
      const making = await fit(session, found, change, options, at);
      return { address, target, found, fitting: { fields, change, making } };
    }),
  );
}

function tableOf(options: PostgresConfig, place: string): DatabaseTable {
  return {
    place,
    async inspect(columns, key) {
      const { found } = await look(options, { at: place, key }, columns);
      const { last, version } = found;
      const state = found.kind !== null && found.has_ledger ? 'no run has written it' : 'the first run creates what is missing';
      const rows = last && `run ${last.run} left ${amountOf(last.total, 'row')}`;
      return `PostgreSQL ${Math.floor(version / 10_000)}; ${rows ?? state}`;
    },
    async runs() {
      const { address, target, found } = await look(options, { at: place, key: [] });
      if (!found.last) throw new SinkError('E_SINK_RUN', `no run has written ${place}`);
      return translated(place, () =>
        transaction(address, 'look', undefined, async (session) => {
          const { rows } = await session.one(`SELECT count(*) AS rows FROM ${target.name}`);
          return { runs: await ledgerRuns(session, target), rows: Number(rows) };
        }),
      );
    },
  };
}

async function prepared(writing: Writing, path: string | undefined, cleanup: () => Promise<void>): Promise<PreparedOutput> {
  const { at, mode, onMissing, found, file, adopt } = writing;
  const counted = await translated(at, () => countChanges(writing));
  const { isAll: _, marked, ...counts } = counted;
  // Others may have written rows since the table was found empty.
  const foreign = isForeign(writing, found, counted.deleted + marked > 0, adopt);
  if (foreign !== undefined) throw new SinkError('E_SINK_CONFIG', `${at}: ${foreign}`);
  const merged: MergeCounts = { ...counts, ...(onMissing === 'mark' && { marked }) };
  let facts: RunFacts | undefined;
  return {
    ...{
      rows: file.rows - counts.unchanged,
      bytes: file.bytes,
      total: counts.before + counts.inserted - counts.deleted,
      unchanged: counts.unchanged,
    },
    // Of a merge, these are written.
    changed: mode === 'append' ? counts.changed : 0,
    ...(mode === 'merge' && { merged }),
    ...defined({ path }),
    actions: (given) => {
      facts = given;
      return Promise.resolve([]);
    },
    async commit() {
      if (facts === undefined) throw new Error('a commit needs the facts of its run');
      const known = facts;
      await translated(at, () => commitChanges(writing, counted, known));
    },
    cleanup,
  };
}
