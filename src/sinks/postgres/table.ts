import type { z } from 'zod';
import { schema, SinkError, type OutputColumn } from '../../core/index.js';
import { deletedAt } from '../../lake/index.js';
import { DatabaseFailure, type Session } from './connection.js';
import { ledgerRuns, ledgerSql, type Recorded } from './ledger.js';
import type { PostgresConfig } from './options.js';
import {
  type Change,
  columnsOf,
  columnTypes,
  commentSql,
  definitionOf,
  deletion,
  gone,
  ledgerName,
  nameProblem,
  quoted,
  quotedList,
  stage,
  statementsOf,
  type Target,
} from './sql.js';

const state = schema((z) =>
  z.object({
    ...{ version: z.coerce.number(), encoding: z.string(), kind: z.string().nullable(), is_parent: z.boolean() },
    ...{ has_schema: z.boolean(), has_ledger: z.boolean() },
    // `is_required`: a row that does not name it is refused.
    columns: z.array(z.object({ name: z.string(), type: z.string(), is_required: z.boolean() })),
    // What a delete would set off: foreign keys, triggers and rules.
    consequences: z.array(z.string()),
  }),
);

/** What a database has, as a run found it before it read anything, with the last run that committed to the table. */
export type Found = Omit<z.output<ReturnType<typeof state>>, 'encoding' | 'is_parent'> & {
  readonly hasRows: boolean;
  readonly last: Recorded | undefined;
};

/** Looks at a database. @throws {SinkError} `E_SINK_CONFIG` for what no run can write to. */
export async function inspect(session: Session, target: Target, at: string): Promise<Found> {
  const { encoding, is_parent, ...found } = state().parse(await session.one(stateQuery, [target.schema, target.table, ledgerName]));
  const { version, kind } = found;
  refuse(at, [
    version < 130_000 ? `the server is of version ${Math.floor(version / 10_000)}; it must be 13 or newer` : undefined,
    encoding === 'UTF8' ? undefined : `the database is encoded in ${encoding}; it must be UTF8`,
    kind === null || kind === 'r' || kind === 'p' ? undefined : `${target.name} is not a table`,
    kind === 'r' && is_parent ? `other tables inherit from ${target.name}` : undefined,
  ]);
  const [last] = found.has_ledger ? await ledgerRuns(session, target, 1) : [];
  const hasRows = kind !== null && (await session.one(`SELECT EXISTS (SELECT FROM ${target.name}) AS found`))['found'] === true;
  return { ...found, hasRows, last };
}

/** A collation that takes different texts as equal would hide changes. */
const stateQuery = `
  WITH RECURSIVE space AS (SELECT oid FROM pg_namespace WHERE nspname = $1),
    this AS (SELECT c.oid, relkind FROM pg_class AS c JOIN space ON relnamespace = space.oid WHERE relname = $2),
    parts AS (SELECT oid FROM this UNION SELECT inhrelid FROM pg_inherits JOIN parts ON inhparent = parts.oid),
    consequences AS (
      SELECT format('the foreign key %I of %s', conname, conrelid::regclass) AS what
      FROM pg_constraint WHERE contype = 'f' AND confdeltype IN ('c', 'n', 'd') AND confrelid IN (SELECT oid FROM parts)
      UNION ALL SELECT format('the trigger %I', tgname)
      FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'D' AND tgtype & 8 <> 0 AND tgrelid IN (SELECT oid FROM parts)
      UNION ALL SELECT format('the rule %I', rulename)
      FROM pg_rewrite WHERE ev_type = '4' AND ev_class IN (SELECT oid FROM parts)
    ),
    columns AS (
      SELECT attname AS name, attnotnull AND NOT atthasdef AND attidentity = '' AS is_required,
        format_type(atttypid, atttypmod) ||
          CASE WHEN collisdeterministic = false THEN ' with a nondeterministic collation' ELSE '' END AS type
      FROM this JOIN pg_attribute ON attrelid = this.oid LEFT JOIN pg_collation AS c ON c.oid = attcollation
      WHERE attnum > 0 AND NOT attisdropped
    )
  SELECT current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding,
    (SELECT relkind FROM this) AS kind, (SELECT count(*) FROM parts) > 1 AS is_parent, EXISTS (SELECT FROM space) AS has_schema,
    EXISTS (SELECT FROM pg_class WHERE relnamespace = (SELECT oid FROM space) AND relname = $3) AS has_ledger,
    coalesce((SELECT json_agg(columns) FROM columns), '[]') AS columns,
    coalesce((SELECT json_agg(what) FROM consequences), '[]') AS consequences`;

/** What a run makes before it writes rows. */
export interface Making {
  readonly create: readonly string[];
  /** Columns of an existing table. */
  readonly alter: readonly string[];
}

/**
 * Compares what a run writes with what the database has, and has the server check its statements, without doing them: rights, the unique
 * index, columns that cannot be written.
 *
 * @throws {SinkError} `E_SINK_CONFIG` with everything that does not fit.
 */
export async function fit(
  session: Session,
  found: Found,
  change: Change,
  { create, adopt }: Pick<PostgresConfig, 'create' | 'adopt'>,
  at: string,
): Promise<Making> {
  const { target, key } = change;
  const [columns, hasTable] = [columnsOf(change), found.kind !== null];
  const typeIn = (name: string) => found.columns.find((column) => column.name === name)?.type;
  const added = columns.filter(({ name }) => hasTable && typeIn(name) === undefined);
  const making: Making = {
    create: [...(hasTable ? [] : tableSql(change, found, columns)), ...(found.has_ledger ? [] : [ledgerSql(target)])],
    alter: added.flatMap((column) => [
      `ALTER TABLE ${target.name} ADD COLUMN IF NOT EXISTS ${definitionOf(column)}`,
      commentSql(target.name, column),
    ]),
  };
  refuse(at, [
    isForeign(change, found, found.hasRows, adopt),
    ...columns.map(({ name }) => nameProblem(name)),
    change.marks && change.columns.some(({ name }) => name === deletedAt.name)
      ? `mark adds the column ${deletedAt.name}, but a column of that name already exists; rename it`
      : undefined,
    making.create.length > 0 && !create
      ? `${hasTable ? target.ledger : target.name} is missing; set create: true, or run ${making.create.join('; ')}`
      : undefined,
    ...columns.map(({ name, type }) => {
      const is = typeIn(name) ?? columnTypes[type];
      return is === columnTypes[type] ? undefined : `the column ${quoted(name)} has the type ${is}; it must be ${columnTypes[type]}`;
    }),
    ...found.columns.map(({ name, is_required }) => {
      const isOurs = columns.some((column) => column.name === name);
      return is_required && !isOurs ? `the column ${quoted(name)} is NOT NULL without a default, and no column of this run` : undefined;
    }),
  ]);
  refuseConsequences(change, found, at);
  await createStage(session, change);
  if (!hasTable) return making;
  await session.query(goneSql(change));
  const isKnown = ({ name }: OutputColumn) => added.every((column) => column.name !== name);
  const known = { ...change, columns: change.columns.filter(isKnown), marks: change.marks && isKnown(deletedAt) };
  const names = quotedList(known.columns.map(({ name }) => name));
  if (change.mode !== 'replace') {
    const unique = `INSERT INTO ${target.name} (${names}) SELECT ${names} FROM ${stage} ON CONFLICT (${quotedList(key)}) DO NOTHING`;
    const index = `CREATE UNIQUE INDEX ON ${target.name} (${quotedList(key)})`;
    await session.query(`EXPLAIN ${unique}`).catch((failure: unknown) => {
      if (failure instanceof DatabaseFailure && failure.state === '42P10')
        refuse(at, [`${change.mode} needs a unique index of exactly the columns of the key; run ${index}`]);
      throw failure;
    });
  }
  const checked = [
    ...Object.values(statementsOf(known)),
    ...(change.onMissing === 'delete' ? [deletion(change, true)] : []),
    ...(found.has_ledger ? [`INSERT INTO ${target.ledger} (table_name) VALUES ('')`] : []),
  ];
  for (const sql of checked) await session.query(`EXPLAIN ${sql}`);
  return making;
}

export async function createStage(session: Session, { columns }: Change): Promise<void> {
  await session.query(`CREATE TEMPORARY TABLE ${stage} (${columns.map(definitionOf).join(', ')}) ON COMMIT DROP`);
}

export function goneSql({ key }: Change): string {
  const columns = [...key.map((name) => `${quoted(name)} text`), 'is_unread boolean'];
  return `CREATE TEMPORARY TABLE ${gone} (${columns.join(', ')}) ON COMMIT DROP`;
}

/** @throws {SinkError} `E_SINK_CONFIG` if a delete would do more. Checked again at the commit, as a night is long. */
export function refuseConsequences({ target, mode, onMissing }: Change, { consequences }: Found, at: string): void {
  const deletes = mode === 'replace' || onMissing === 'delete';
  refuse(at, deletes ? consequences.map((what) => `deleting rows of ${target.name} would set off ${what}`) : []);
}

function refuse(at: string, faults: readonly (string | undefined)[]): void {
  const messages = faults.flatMap((fault) => (fault === undefined ? [] : [`${at}: ${fault}`]));
  if (messages.length > 0) throw new SinkError('E_SINK_CONFIG', messages);
}

/** Whether earlier runs may have marked rows: of keys that return, that has to end, even if no more are marked. */
export function hasMarks({ columns, last }: Found, written: readonly OutputColumn[]): boolean {
  const isMark = ({ name }: { readonly name: string }) => name === deletedAt.name;
  return last?.facts.marks === true && columns.some(isMark) && !written.some(isMark);
}

/** Whether all rows of a table were written by runs, as far as is known: it was created, empty, replaced or adopted before. */
export function isOwnTable({ mode }: Change, { hasRows, last }: Found, adopt: boolean): boolean {
  return mode === 'replace' || adopt || (last ? last.facts.own : !hasRows);
}

/** Returns why a run may not go on: it would delete rows of others, or mark them. */
export function isForeign({ target, mode, onMissing }: Change, { last }: Found, hasRows: boolean, adopt: boolean): string | undefined {
  if ((mode !== 'replace' && onMissing === 'keep') || !hasRows || last?.facts.own || adopt) return undefined;
  const what = mode === 'replace' ? mode : `on_missing: ${onMissing}`;
  return `${target.name} has rows that no run wrote, and ${what} would delete them; set adopt: true if that is right`;
}

function tableSql({ target, mode, key }: Change, { has_schema }: Found, columns: readonly OutputColumn[]): readonly string[] {
  const primary = key.length === 0 ? [] : [`PRIMARY KEY (${quotedList(key)})`];
  // Room on each page for changed rows, so that no index has to be written for them.
  const room = mode === 'merge' ? ' WITH (fillfactor = 90)' : '';
  return [
    ...(has_schema ? [] : [`CREATE SCHEMA IF NOT EXISTS ${quoted(target.schema)}`]),
    `CREATE TABLE ${target.name} (${[...columns.map(definitionOf), ...primary].join(', ')})${room}`,
    ...columns.map((column) => commentSql(target.name, column)),
  ];
}
