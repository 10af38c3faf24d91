import type { z } from 'zod';
import { byName, type MergeCounts, schema } from '../../core/index.js';
import { manifestShape, type Published } from '../../lake/index.js';
import type { Session } from './connection.js';
import type { Target } from './sql.js';

const countNames = ['before', 'inserted', 'changed', 'unchanged', 'deleted', 'marked'] as const;
const texts = ['run', 'pipeline', 'mode'] as const;

const row = schema((z) =>
  z.object({
    ...byName(texts, () => z.string()),
    committed_at: z.date().transform((date) => date.toISOString()),
    ...byName([...countNames, 'total'] as const, () => z.coerce.number()),
    facts: manifestShape()
      .pick({
        schema: true,
        undeclared: true,
        reads: true,
        partial: true,
        scope: true,
        since: true,
        fingerprint: true,
        service: true,
        account: true,
        collection: true,
      })
      // Whether runs wrote all rows of the table, and whether it may have rows that they marked.
      .extend({ own: z.boolean(), marks: z.boolean() }),
  }),
);

/** A run that committed. */
export type Recorded = z.output<ReturnType<typeof row>>;

type NewRun = Pick<Recorded, (typeof texts)[number]> & MergeCounts & { readonly facts: object };

/** Rows are only added. The number, given under the lock of the table, is their order. */
export function ledgerSql({ ledger }: Target): string {
  const number = 'number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY';
  const named = ['table_name', ...texts].map((name) => `${name} text NOT NULL`);
  const counts = countNames.map((name) => `${name} bigint NOT NULL`);
  const total = 'total bigint GENERATED ALWAYS AS (before + inserted - deleted) STORED';
  const others = 'committed_at timestamptz NOT NULL DEFAULT now(), facts json NOT NULL, UNIQUE (table_name, run)';
  return `CREATE TABLE IF NOT EXISTS ${ledger} (${[number, ...named, ...counts, total, others].join(', ')})`;
}

/** @returns The runs of a table, the newest first. */
export async function ledgerRuns(session: Session, { ledger, table }: Target, most?: number): Promise<readonly Recorded[]> {
  const sql = `SELECT * FROM ${ledger} WHERE table_name = $1 ORDER BY number DESC LIMIT $2`;
  const { rows } = await session.query(sql, [table, most ?? null]);
  return rows.map((each) => row().parse(each));
}

export async function recordRun(session: Session, { ledger, table }: Target, run: NewRun): Promise<void> {
  const names = ['table_name', ...texts, ...countNames, 'facts'].join(', ');
  const sql = `INSERT INTO ${ledger} (${names}) SELECT ${names} FROM json_populate_record(NULL::${ledger}, $1)`;
  await session.query(sql, [JSON.stringify({ table_name: table, marked: 0, ...run })]);
}

/** @param now How many rows the table has now. Others may have deleted some, which the end of a list would not bring back. */
export function publishedBy({ run: runId, total: rows, facts }: Recorded, now: number): Published {
  const { schema: columns, undeclared, reads, partial = false, since } = facts;
  return { runId, rows, columns, undeclared, reads, partial, since: now === rows ? since : undefined };
}
