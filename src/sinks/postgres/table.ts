import { byName, type Column, itemAt, schema, SinkError, type OutputColumn } from '../../core/index.js';
import { deletedAt } from '../../lake/index.js';
import { keyFields } from '../keyed.js';
import { project } from '../projection.js';
import type { SinkContext } from '../sink.js';
import type { Session } from './connection.js';
import { ledgerRuns, ledgerSql } from './ledger.js';
import type { PostgresConfig } from './options.js';
import { type Change, columnTypes, definitionOf, quoted, quotedList, stageSql, statementsOf, targetOf } from './sql.js';

const state = schema((z) =>
  z.object({
    // `null` if there is no table of which it could be true.
    ...byName(['is_supported', 'has_schema', 'has_ledger', 'is_plain', 'is_odd_ledger'] as const, () => z.boolean().nullable()),
    // Another one after a table was dropped and made again.
    oid: z.string().nullable(),
    // `is_required`: a row that does not name it is refused.
    columns: z.array(z.object({ name: z.string(), type: z.string(), is_required: z.boolean() })),
    // What a delete would set off: foreign keys, triggers and rules.
    consequences: z.array(z.string()),
  }),
);

/** What a database has, as a run found it, with the last run that committed to the table. */
export type Found = Awaited<ReturnType<typeof inspect>>;

/** Looks at a database. @throws {SinkError} `E_SINK_CONFIG` for what no run can write to. */
export async function inspect(session: Session, { table }: PostgresConfig, at: string) {
  const target = targetOf(table);
  const { rows } = await session.query(stateQuery, [target.name, target.ledger, quoted(target.schema)]);
  const found = state().parse(itemAt(rows, 0));
  refuse(at, [
    !found.is_supported && 'the server must be PostgreSQL 13 or newer, and the database encoded in UTF8',
    found.is_plain === false && `${target.name} is not a table, or other tables inherit from it`,
    found.is_odd_ledger === true && `${target.ledger} is not a table of runs: it has triggers or rules, or is no table`,
  ]);
  const [last] = found.has_ledger ? await ledgerRuns(session, target, 1) : [];
  const hasTable = found.is_plain !== null;
  const hasRows = hasTable && (await session.query(`SELECT FROM ${target.name} LIMIT 1`)).rows.length > 0;
  return { ...found, target, hasTable, hasRows, last };
}

/** A collation that takes different texts as equal would hide changes. */
const stateQuery = `
  WITH RECURSIVE this AS (SELECT oid, relkind FROM pg_class WHERE oid = to_regclass($1)),
    parts AS (SELECT oid FROM this UNION SELECT inhrelid FROM pg_inherits JOIN parts ON inhparent = parts.oid),
    columns AS (
      SELECT attname AS name, attnotnull AND NOT atthasdef AND attidentity = '' AS is_required,
        format_type(atttypid, atttypmod) ||
          CASE WHEN collisdeterministic = false THEN ' with a nondeterministic collation' ELSE '' END AS type
      FROM this JOIN pg_attribute ON attrelid = this.oid LEFT JOIN pg_collation AS c ON c.oid = attcollation
      WHERE attnum > 0 AND NOT attisdropped
    )
  SELECT current_setting('server_version_num')::int >= 130000 AND current_setting('server_encoding') = 'UTF8' AS is_supported,
    (SELECT relkind = 'p' OR (relkind = 'r' AND (SELECT count(*) FROM parts) = 1) FROM this) AS is_plain,
    to_regnamespace($3) IS NOT NULL AS has_schema, to_regclass($2) IS NOT NULL AS has_ledger, (SELECT oid::text FROM this) AS oid,
    (SELECT relkind <> 'r' OR relhastriggers OR relhasrules FROM pg_class WHERE oid = to_regclass($2)) AS is_odd_ledger,
    coalesce((SELECT json_agg(columns) FROM columns), '[]') AS columns,
    ARRAY(
      SELECT format('the foreign key %I of %s', conname, conrelid::regclass)
      FROM pg_constraint WHERE contype = 'f' AND confdeltype IN ('c', 'n', 'd') AND confrelid IN (SELECT oid FROM parts)
      UNION ALL SELECT format('the trigger %I', tgname)
      FROM pg_trigger WHERE tgenabled <> 'D' AND tgtype & 8 <> 0 AND tgrelid IN (SELECT oid FROM parts)
        -- Before PostgreSQL 15, clones in partitions count as internal.
        AND (NOT tgisinternal OR (tgparentid <> 0 AND tgconstrrelid = 0))
      UNION ALL SELECT format('the rule %I', rulename)
      FROM pg_rewrite WHERE ev_type = '4' AND ev_class IN (SELECT oid FROM parts)
    ) AS consequences`;

/** What a run does to the table that it found. */
export type Fitted = Awaited<ReturnType<typeof fit>>;

/**
 * Compares what a run writes with what the database has, and has the server check its statements, without doing them: rights, the unique
 * index, columns that cannot be written. Done again at the commit, as a night is long.
 *
 * @throws {SinkError} `E_SINK_CONFIG` with everything that does not fit.
 */
export async function fit(session: Session, found: Found, options: PostgresConfig, context: SinkContext, arriving: readonly Column[]) {
  const { mode, on_missing } = options;
  const { target, hasTable, has_schema, has_ledger, last } = found;
  // A table that is replaced needs a key only to be created with it.
  const fields = mode === 'replace' && hasTable && !options.create ? [] : keyFields(arriving, options, context);
  const nul = 'has a NUL character, which PostgreSQL cannot represent';
  const { columns, take } = project(arriving, { ...options, required: fields, nul }, context);
  const namesOf = (wanted: readonly string[]) => wanted.flatMap((field) => columns.find((column) => column.field === field)?.name ?? []);
  const typeIn = (name: string) => found.columns.find((column) => column.name === name)?.type;
  const hasOther = columns.some(({ name }) => name === deletedAt.name);
  // Rows that earlier runs marked may return, even if no more are marked.
  const mayReturn = mode !== 'replace' && last?.facts.marks === true && typeIn(deletedAt.name) !== undefined && !hasOther;
  const marks = on_missing === 'mark' || mayReturn;
  const change: Change = { target, mode, on_missing, columns, key: namesOf(fields), ignored: namesOf(options.ignore ?? []), marks };
  const written = marks ? [...columns, deletedAt] : columns;
  const primary = change.key.length === 0 ? [] : [`PRIMARY KEY (${quotedList(change.key)})`];
  // Room on each page for changed rows, so that no index has to be written for them.
  const room = mode === 'merge' ? ' WITH (fillfactor = 90)' : '';
  const table = [
    ...(has_schema ? [] : [`CREATE SCHEMA IF NOT EXISTS ${quoted(target.schema)}`]),
    `CREATE TABLE ${target.name} (${[...written.map(definitionOf), ...primary].join(', ')})${room}`,
    ...written.map((column) => commentSql(target.name, column)),
  ];
  const creating = [...(hasTable ? [] : table), ...(has_ledger ? [] : [ledgerSql(target)])];
  const added = written.filter(({ name }) => hasTable && typeIn(name) === undefined);
  const altering = added.flatMap((column) => [
    `ALTER TABLE ${target.name} ADD COLUMN IF NOT EXISTS ${definitionOf(column)}`,
    commentSql(target.name, column),
  ]);
  const isKnown = ({ name }: OutputColumn) => added.every((column) => column.name !== name);
  // Without the columns that the table does not have yet.
  const known: Change = { ...change, columns: columns.filter(isKnown), marks: marks && isKnown(deletedAt) };
  const isForeign = (mode === 'replace' || on_missing !== 'keep') && found.hasRows && !last?.facts.own && !options.adopt;
  const consequences = mode === 'replace' || on_missing === 'delete' ? found.consequences : [];
  const names = [target.schema, target.table, ...written.map(({ name }) => name)];
  refuse(context.at, [
    isForeign && `${target.name} has rows that no run wrote, and they would be deleted or marked; set adopt: true if that is right`,
    ...consequences.map((what) => `deleting rows of ${target.name} would set off ${what}`),
    creating.length > 0 && !options.create && `a table is missing; set create: true, or run ${creating.join('; ')}`,
    // PostgreSQL cuts longer names silently.
    ...names.map((name) => Buffer.byteLength(name) > 63 && `the name ${name} has more than 63 bytes`),
    ...written.map(({ name, type }) => {
      const is = typeIn(name) ?? columnTypes[type];
      return is !== columnTypes[type] && `the column ${quoted(name)} has the type ${is}; it must be ${columnTypes[type]}`;
    }),
    ...found.columns.map(({ name, is_required }) => {
      const isOurs = written.some((column) => column.name === name);
      return is_required && !isOurs && `the column ${quoted(name)} is NOT NULL without a default, and no column of this run`;
    }),
  ]);
  const statements = statementsOf(known);
  const checked = [
    ...Object.values(statements),
    ...(mode === 'replace' ? [] : [`${statements.inserted} ON CONFLICT (${quotedList(change.key)}) DO NOTHING`]),
    ...(on_missing === 'delete' ? [`DELETE FROM ${target.name}`] : []),
    ...(has_ledger ? [`INSERT INTO ${target.ledger} (table_name) VALUES ('')`] : []),
  ];
  await session.query(stageSql(columns));
  for (const sql of hasTable ? checked : []) await session.query(`EXPLAIN ${sql}`);
  return { ...change, take, arriving, options, context, found, known, creating, altering };
}

function refuse(at: string, faults: readonly (string | false | undefined)[]): void {
  const messages = faults.flatMap((fault) => (fault ? [`${at}: ${fault}`] : []));
  if (messages.length > 0) throw new SinkError('E_SINK_CONFIG', messages);
}

function commentSql(table: string, { name, comment = '' }: OutputColumn): string {
  const text = comment.replaceAll('\0', '').replaceAll('\\', '\\\\').replaceAll("'", "''");
  return `COMMENT ON COLUMN ${table}.${quoted(name)} IS E'${text}'`;
}
