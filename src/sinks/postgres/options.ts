import type { z } from 'zod';
import { missingPackage, schema } from '../../core/index.js';
import { keyedOptions, refuseUnkeyed } from '../keyed.js';
import { columns, naming, onError, types, where } from '../options.js';
import { addressOf, addressProblem } from './address.js';
import { ledgerName, targetOf } from './sql.js';

/** The options of a table of PostgreSQL. */
export const postgresConfig = schema((z) =>
  z
    .strictObject({
      url: z.string().describe('Address of the database: a reference to postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full.'),
      table: z
        .string()
        .regex(/^[^.\0]+(?:\.[^.\0]+)?$/, 'a table is named like leads or crm.leads')
        .describe('Table to write, like crm.leads; without a schema, it is in public.'),
      mode: z
        .enum(['replace', 'append', 'merge'])
        .default('replace')
        .describe('A run replaces all rows, appends rows whose key is new, or merges, which also updates rows that changed.'),
      ...keyedOptions('the table needs a unique index of exactly them; create makes it the primary key'),
      create: z
        .boolean()
        .default(false)
        .describe('Create what is missing: the schema, the table with its key, and leadstream_runs, the table of runs next to it.'),
      adopt: z.boolean().default(false).describe('Accept a table with rows that no run wrote, which the run would delete.'),
      naming: naming('snake_case'),
      types: types('typed'),
      columns: columns(),
      where: where(),
      on_error: onError(),
    })
    .superRefine((options, context) => {
      const refuse = (path: string, message: string | undefined) => {
        if (message !== undefined) context.addIssue({ code: 'custom', path: [path], message });
      };
      const { url, table } = options;
      // What a reference refers to may be unknown while a file is checked.
      const isKnown = !url.startsWith('${');
      const missing = ['pg', 'pg-copy-streams'].map((name) => missingPackage(name, 'postgres', 'pg pg-copy-streams'));
      refuse('url', isKnown && !addressOf(url) ? addressProblem : missing.find((message) => message !== undefined));
      refuseUnkeyed(options, refuse);
      if (targetOf(table).table === ledgerName) refuse('table', `${ledgerName} is the table of runs; choose another name`);
    }),
);

export type PostgresConfig = z.output<ReturnType<typeof postgresConfig>>;

/** Returns what identifies a table of a database, without secrets. */
export function databasePlace({ url, table }: Pick<PostgresConfig, 'url' | 'table'>): string | undefined {
  const [address, names] = [addressOf(url), targetOf(table)];
  return address && `${names.schema}.${names.table} at ${address.host}:${address.port}/${address.database}`;
}
