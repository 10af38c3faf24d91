import type { z } from 'zod';
import { defined, SinkError } from '../../core/index.js';
import { scratchFolder } from '../../engine/index.js';
import type { RunFacts } from '../../lake/index.js';
import { attempt, ScratchFile } from '../../store/index.js';
import { openInCode } from '../alone.js';
import { checkKeyed } from '../keyed.js';
import { checkColumns } from '../options.js';
import { builtInSink, PhasedWriter, type SinkContext, type SinkDefinition, type SinkWriter } from '../sink.js';
import { leastWrite } from '../text.js';
import { addressOf } from './address.js';
import { transaction } from './connection.js';
import { CopyFile, CopyFormat } from './copy-file.js';
import { ledgerRuns, publishedBy } from './ledger.js';
import { databasePlace, postgresConfig, type PostgresConfig } from './options.js';
import { fit, inspect } from './table.js';
import { commitChanges, countChanges } from './write.js';

/** The options of `postgres`, named as in a pipeline file. The reference of pipeline files explains each of them. */
export type PostgresOptions = Omit<z.input<ReturnType<typeof postgresConfig>>, 'where'>;

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
    const found = await transaction(options, context, 'look', async (session) => {
      const state = await inspect(session, options, at);
      // What does not fit is known before the first request, but for fields that the service sends undeclared.
      if (planned) await fit(session, state, options, context, planned);
      const all = `SELECT count(*) AS rows FROM ${state.target.name}`;
      const { rows } = state.hasTable && state.last?.facts.since ? await session.counts(['rows'], all) : { rows: 0 };
      return { ...state, rows };
    });
    const scratchFile = await attempt('E_SINK_PATH', `cannot write in ${scratch}`, () => ScratchFile.open(scratch));
    const file = new CopyFile(scratchFile);
    const keys = { gone: new CopyFile(scratchFile), unread: new CopyFile(scratchFile) };
    return new PhasedWriter(at, {
      earlier: found.last && publishedBy(found.last, found.rows),
      async begin(arriving) {
        // Whoever wrote since then is noticed at the commit.
        const fitted = await transaction(options, context, 'look', async (session) => fit(session, found, options, context, arriving));
        const writing = { ...fitted, file, keys };
        const format = new CopyFormat(fitted.columns);
        return {
          async write(page) {
            const batch = fitted.take(page);
            await file.append(format.rows(batch, leastWrite), batch.rows);
          },
          async soFar() {
            await file.append(format.tail(), 0);
            return countChanges(writing);
          },
          async prepare() {
            await file.append(format.tail(), 0);
            const counts = await countChanges(writing);
            let facts: RunFacts | undefined;
            return {
              rows: file.rows - counts.unchanged,
              bytes: file.bytes,
              total: counts.before + counts.inserted - counts.deleted,
              unchanged: counts.unchanged,
              // Of a merge, these are written.
              changed: options.mode === 'append' ? counts.changed : 0,
              ...defined({ path: databasePlace(options), merged: options.mode === 'merge' ? counts : undefined }),
              actions: (given) => {
                facts = given;
                return Promise.resolve([]);
              },
              async commit() {
                if (facts === undefined) throw new Error('a commit needs the facts of its run');
                await commitChanges(writing, counts, facts);
              },
              cleanup: () => scratchFile.close(),
            };
          },
        };
      },
      abort: async (underWay) => underWay.then(() => scratchFile.close()),
    });
  },
});
