import type { z } from 'zod';
import { defined, type MergeCounts, SinkError } from '../../core/index.js';
import { scratchFolder } from '../../engine/index.js';
import type { RunFacts } from '../../lake/index.js';
import { openInCode } from '../alone.js';
import { checkKeyed } from '../keyed.js';
import { checkColumns } from '../options.js';
import { builtInSink, PhasedWriter, type SinkContext, type SinkDefinition, type SinkWriter } from '../sink.js';
import { addressOf } from './address.js';
import { transaction } from './connection.js';
import { CopyFile, CopyFormat } from './copy-file.js';
import { ledgerRuns, publishedBy } from './ledger.js';
import { databasePlace, postgresConfig, type PostgresConfig } from './options.js';
import { fit, inspect } from './table.js';
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
  secrets: [{ path: ['url'], parts: (url) => [addressOf(url)?.password ?? ''] }],
  check(options, arriving, plan) {
    checkColumns(options.columns, arriving, plan);
    checkKeyed(options, arriving, plan);
  },
  adds: ({ mode }) => mode !== 'replace',
  output: () => undefined,
  place: (options) => databasePlace(options),
  async ledger(options) {
    const at = databasePlace(options) ?? '';
    return transaction(options, { at }, 'look', async (session) => {
      const { target, last } = await inspect(session, options, at);
      if (!last) throw new SinkError('E_SINK_RUN', `no run has written ${at}`);
      const { rows } = await session.counts(['rows'], `SELECT count(*) AS rows FROM ${target.name}`);
      return { runs: await ledgerRuns(session, target), rows };
    });
  },
  async open(options, context) {
    const { at, planned, scratch = scratchFolder() } = context;
    const { last, oid } = await transaction(options, context, 'look', async (session) => {
      const found = await inspect(session, options, at);
      // What does not fit is known before the first request, but for fields that the service sends undeclared.
      if (planned) await fit(session, found, options, context, planned);
      return found;
    });
    const [file, gone, unread] = [await CopyFile.open(scratch), await CopyFile.open(scratch), await CopyFile.open(scratch)];
    const close = async () => void (await Promise.all([file.close(), gone.close(), unread.close()]));
    return new PhasedWriter(at, {
      earlier: last && publishedBy(last),
      async begin(arriving) {
        const { fitted, take } = await transaction(options, context, 'look', async (session) =>
          // Whoever wrote since then is noticed at the commit.
          fit(session, { ...(await inspect(session, options, at)), last, oid }, options, context, arriving),
        );
        const writing: Writing = { ...fitted, file, gone, unread };
        const format = new CopyFormat(fitted.columns);
        return {
          async write(page) {
            const batch = take(page);
            await file.append(format.rows(batch), batch.rows);
          },
          async prepare() {
            const counted = await countChanges(writing);
            const { marked: _, ...counts } = counted;
            const merged: MergeCounts = options.on_missing === 'mark' ? counted : counts;
            let facts: RunFacts | undefined;
            return {
              rows: file.rows - counts.unchanged,
              bytes: file.bytes,
              total: counts.before + counts.inserted - counts.deleted,
              unchanged: counts.unchanged,
              // Of a merge, these are written.
              changed: options.mode === 'append' ? counts.changed : 0,
              ...defined({ path: databasePlace(options), merged: options.mode === 'merge' ? merged : undefined }),
              actions: (given) => {
                facts = given;
                return Promise.resolve([]);
              },
              async commit() {
                if (facts === undefined) throw new Error('a commit needs the facts of its run');
                await commitChanges(writing, counted, facts);
              },
              cleanup: close,
            };
          },
        };
      },
      async abort(underWay) {
        await underWay;
        await close();
      },
    });
  },
});
