import type * as DuckDB from '@duckdb/node-api';
import { itemAt, type DeclaredType, type Warning } from '../core/index.js';
import { connected } from './database.js';
import { finerThanMs } from './plain.js';

export interface QueryColumn {
  readonly name: string;
  readonly type: DeclaredType;
}

export interface DescribedQuery {
  /** `madeOf`: the columns of `rows` that its values may come from. */
  readonly columns: readonly (QueryColumn & { readonly madeOf: readonly QueryColumn[] })[];
  readonly reads: readonly QueryColumn[];
  /** Whether these are all columns, because it uses some without naming them. */
  readonly isWhole: boolean;
  /** What is valid but probably not intended. */
  readonly warning: Warning | undefined;
}

type QueryAnswer = DescribedQuery | { readonly problem: string };

/** How `rows` represents each type, made of what `plainCast` stores, and how results are read. */
const forms: Readonly<Record<DeclaredType, { readonly sql: string; shown(stored: string): string; read(value: string): string }>> = {
  text: { sql: 'VARCHAR', shown: (stored) => `decode(${stored})`, read: (value) => `encode(${value})` },
  flag: { sql: 'BOOLEAN', shown: (stored) => stored, read: (value) => value },
  integer: { sql: 'BIGINT', shown: (stored) => stored, read: (value) => `${value}::HUGEINT` },
  decimal: { sql: 'DOUBLE', shown: (stored) => stored, read: double },
  // A cast between TIMESTAMP and TIMESTAMPTZ takes twenty times as long.
  timestamp: { sql: 'TIMESTAMPTZ', shown: (stored) => `make_timestamptz(${stored} * 1000)`, read: instant },
  date: { sql: 'DATE', shown: (stored) => `make_timestamp_ms(${stored})::DATE`, read: instant },
};

/** Returns a number as a DOUBLE; a whole DECIMAL that a DOUBLE would change counts as beyond its range. */
function double(value: string): string {
  const isOther = `trunc(${value}) = ${value} AND TRY_CAST(${value}::DOUBLE AS HUGEINT) <> TRY_CAST(${value} AS HUGEINT)`;
  return `CASE WHEN ${isOther} THEN 'infinity'::DOUBLE ELSE ${value}::DOUBLE END`;
}

/** Returns the milliseconds of an instant or day; of an infinite one, more than a `Date` holds. */
function instant(value: string): string {
  const isFiner = `nanosecond(${value}) % 1000000 <> 0`;
  return `CASE WHEN isinf(${value}) THEN ${finerThanMs + 1n} WHEN ${isFiner} THEN ${finerThanMs} ELSE epoch_ms(${value}) END`;
}

/** Declared types of result columns, by their types in DuckDB; others are refused. */
const types: readonly (readonly [pattern: RegExp, type: DeclaredType])[] = [
  [/^VARCHAR$/, 'text'],
  [/^BOOLEAN$/, 'flag'],
  [/^U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?$/, 'integer'],
  [/^(?:FLOAT|DOUBLE|DECIMAL\(.*\))$/, 'decimal'],
  [/^TIMESTAMP(?:_S|_MS|_NS| WITH TIME ZONE)?$/, 'timestamp'],
  [/^DATE$/, 'date'],
];

const clock = {
  TIMESTAMPTZ: ['now', 'current_timestamp', 'get_current_timestamp', 'transaction_timestamp'],
  TIMESTAMP: ['localtimestamp', 'current_localtimestamp'],
  DATE: ['today', 'current_date'],
};

/** What is not repeatable or shows the process, although DuckDB's list of functions does not say so by their stability. */
const unrepeatable = [
  ...['age', 'current_time', 'get_current_time', 'localtime', 'current_localtime', 'reservoir_quantile'],
  ...['current_setting', 'getvariable', 'version', 'get_block_size', 'json_serialize_plan', 'vector_type'],
  ...['current_user', 'session_user', 'user', 'current_role', 'current_catalog', 'current_schema'],
];

const tableFunctions = ['range', 'generate_series', 'unnest'];

/** Returns the statements that make a view `rows` of the stored columns `value0`, `value1`, …, and set the clock. */
export function querySetting(columns: readonly QueryColumn[], now: Date): readonly string[] {
  const shown = columns.map(({ name, type }, index) => `${forms[type].shown(`value${index}`)} AS ${quoted(name)}`);
  const ofTime = Object.entries(clock).flatMap(([type, names]) =>
    names.map((name) => `CREATE MACRO ${name}() AS CAST('${now.toISOString().replace('Z', '')}' AS TIMESTAMP)::${type}`),
  );
  return [...ofTime, `CREATE VIEW rows AS SELECT ${shown.join() || 'present'} FROM stored`];
}

export function queryResult(columns: readonly QueryColumn[]): string {
  return columns.map(({ name, type }) => forms[type].read(quoted(name))).join();
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Checks a query over a table `rows`, without rows: it must be a single SELECT of that table alone, repeatable, with named columns of known
 * types.
 * @returns Otherwise why it is refused. DuckDB's messages quote the query.
 */
export async function describeQuery(query: string, rows: readonly QueryColumn[]): Promise<QueryAnswer> {
  const { api, instance, connection } = await connected({ enable_external_access: 'false' });
  try {
    const values = async (sql: string, given: readonly string[] = []) => (await connection.runAndReadAll(sql, [...given])).getRows().flat();
    const columns = rows.map(({ name, type }) => `NULL::${forms[type].sql} AS ${quoted(name)}`);
    await connection.run(`CREATE VIEW rows AS SELECT ${columns.join() || 'TRUE AS present'}`);
    const statements = await connection.extractStatements(query);
    if (statements.count !== 1) return { problem: 'must be one SELECT statement; PIVOT needs a list, as in ON column IN (…)' };
    const prepared = await statements.prepare(0);
    if (prepared.statementType !== api.StatementType.SELECT) return { problem: 'must be a SELECT statement' };
    const volatile = await values(
      "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability <> 'CONSISTENT' OR (function_type = 'macro' AND schema_name = 'pg_catalog')",
    );
    const others = await values('SELECT view_name FROM duckdb_views() WHERE internal');
    const [json] = await values('SELECT json_serialize_sql(?::VARCHAR)::VARCHAR', [query]);
    const tree = new QueryTree(JSON.parse(String(json)), rows);
    const problem = tree.problem(new Set([...unrepeatable, ...volatile.map(String)]), new Set(others.map(String)));
    if (problem !== undefined) return { problem };
    // As it will run: a pragma is refused, because it is prepared as a SELECT.
    await connection.prepare(`CREATE TABLE result AS ${query}`);
    return resultOf(prepared, tree);
  } catch (failure) {
    const [message = ''] = String(failure).split('\n\nLINE');
    return { problem: message.replace(/^Error: (?:Failed to extract statements: )?/, '').replaceAll('\n', ' ') };
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

export class Queries {
  readonly #answers = new Map<string, QueryAnswer>();

  async describe(query: string, rows: readonly QueryColumn[]): Promise<void> {
    this.#answers.set(JSON.stringify([query, rows]), await describeQuery(query, rows));
  }

  /** Returns `undefined` if the query was not described over these columns. */
  described(query: string, rows: readonly QueryColumn[]): QueryAnswer | undefined {
    return this.#answers.get(JSON.stringify([query, rows]));
  }
}

function resultOf(prepared: DuckDB.DuckDBPreparedStatement, tree: QueryTree): QueryAnswer {
  const used = new Set<string>();
  const columns: QueryColumn[] = [];
  for (let index = 0; index < prepared.columnCount; index += 1) {
    const name = prepared.columnName(index);
    const inDuckdb = String(prepared.columnType(index));
    const type = types.find(([pattern]) => pattern.test(inDuckdb))?.[1];
    if (!/^(?!__proto__$)[a-z_][a-z0-9_]*$/.test(name))
      return { problem: `name the column ${name} with AS; a name may contain only a-z, 0-9 and _` };
    if (used.has(name)) return { problem: `two columns are named ${name}; name one of them with AS` };
    if (type === undefined) {
      return { problem: `the column ${name} is of type ${inDuckdb}; cast it to VARCHAR, BOOLEAN, BIGINT, DOUBLE, TIMESTAMP or DATE` };
    }
    if (tree.zones.length > 0 && /^TIMESTAMP(?:_\w+)?$/.test(inDuckdb)) {
      const remedy = 'cast it to DATE or VARCHAR, or turn it back with AT TIME ZONE';
      return { problem: `the column ${name} is a time of day without its zone, as from AT TIME ZONE; ${remedy}` };
    }
    used.add(name);
    columns.push({ name, type });
  }
  const { reads, isWhole, warning } = tree;
  const origins = tree.madeOf(columns.length);
  return { columns: columns.map((column, index) => ({ ...column, madeOf: itemAt(origins, index) })), reads, isWhole, warning };
}

type Node = Readonly<Record<string, unknown>>;

class QueryTree {
  readonly #nodes: Node[] = [];
  readonly words = new Set<string>();
  /** Names that mean a whole row. */
  readonly #tables: ReadonlySet<string>;

  /** @param tables The query's, if this is a part of it. */
  constructor(
    private readonly tree: unknown,
    private readonly rows: readonly QueryColumn[],
    tables?: ReadonlySet<string>,
  ) {
    this.#collect(tree);
    const aliases = this.#nodes.flatMap((node) => ('query_location' in node && !('class' in node) ? [lower(node.alias)] : []));
    this.#tables = tables ?? new Set(['rows', ...aliases]);
  }

  #collect(value: unknown): void {
    if (typeof value === 'string') this.words.add(value.toLowerCase());
    if (typeof value !== 'object' || value === null) return;
    if (!Array.isArray(value)) this.#nodes.push(value as Node);
    for (const part of Object.values(value)) this.#collect(part);
  }

  /** Returns why the query is refused, if it is. @param volatile Lower-case names of functions. @param others Names of DuckDB's tables. */
  problem(volatile: ReadonlySet<string>, others: ReadonlySet<string>): string | undefined {
    const named = this.#nodes.flatMap((node) => ('key' in node && 'value' in node ? [lower(node.key)] : []));
    // Outside of the subquery that defines it, such a name would mean DuckDB's own table.
    const own = new Set(['rows', ...named.filter((name) => !others.has(name))]);
    // list_aggregate takes the name of a function as a text.
    if (this.words.has('reservoir_quantile')) return 'reservoir_quantile can differ for the same rows';
    const timeless = new Set(Object.values(clock).flat());
    for (const node of this.#nodes) {
      const [column, ...more] = Array.isArray(node.column_names) ? (node.column_names as readonly unknown[]) : [];
      const name = lower(node.function_name ?? (more.length === 0 ? column : undefined) ?? node.table_name);
      const isCalled =
        node.class === 'FUNCTION' || (node.class === 'COLUMN_REF' && !this.rows.some((column) => column.name.toLowerCase() === name));
      if (node.sample) return 'a sample differs each time; use the step sample';
      if (node.class === 'PARAMETER') return 'parameters have no value here; write the value';
      if (node.type === 'SHOW_REF') return 'must be a SELECT statement';
      if (isCalled && !timeless.has(name) && volatile.has(name)) return `${name} can differ for the same rows, or shows the machine`;
      if (node.class === 'FUNCTION' && (Boolean(node.catalog) || !['', 'main'].includes(lower(node.schema))))
        return `write ${name} without a catalog and a schema`;
      if (node.type === 'TABLE_FUNCTION' && !tableFunctions.includes(lower((node.function as Node).function_name))) {
        return 'the only table is rows; files and tables of DuckDB cannot be read';
      }
      if (node.type === 'BASE_TABLE' && (Boolean(node.schema_name) || Boolean(node.catalog_name) || !own.has(name))) {
        return `the only table is rows, not ${name}`;
      }
    }
    return undefined;
  }

  /** The columns that the query may read: those that it names, or all if it uses some without a name. */
  get reads(): readonly QueryColumn[] {
    return this.isWhole ? this.rows : this.rows.filter(({ name }) => this.words.has(name.toLowerCase()));
  }

  get isWhole(): boolean {
    const orders = this.#nodes.flatMap(({ modifiers }) => nodesOf(modifiers)).flatMap((modifier) => nodesOf(modifier.orders));
    // ORDER BY ALL means the result's columns.
    const results = orders.map(({ expression }) => expression as Node).filter(({ expr }) => expr === null);
    return this.#nodes.some(
      (node) =>
        (node.class === 'STAR' && !results.includes(node)) ||
        node.class === 'POSITIONAL_REFERENCE' ||
        node.ref_type === 'NATURAL' ||
        // PIVOT groups by the columns that it does not name.
        node.type === 'PIVOT' ||
        (Array.isArray(node.column_name_alias) && node.column_name_alias.length > 0) ||
        (node.class === 'COLUMN_REF' && Array.isArray(node.column_names) && this.#tables.has(lower(node.column_names.at(-1)))),
    );
  }

  /** Warns where a query turns an instant into one zone's time and reads it in another. Constants and casts to TIMESTAMP have no zone. */
  get warning(): Warning | undefined {
    for (const [zone, turned] of this.zones) {
      const inner = new QueryTree(turned, this.rows).zones;
      const [other] = inner.find(([name, value]) => name !== zone && value.class !== 'CAST' && value.class !== 'CONSTANT') ?? [];
      const message = `reads the time of day in ${other} as one in ${zone}; columns of rows have a zone, so write AT TIME ZONE '${zone}' alone`;
      if (other !== undefined) return { code: 'W_SPEC_ZONE', message };
    }
    return undefined;
  }

  get zones(): readonly (readonly [zone: string, turned: Node])[] {
    return this.#nodes.flatMap((node) => {
      const [zone, turned] = node.class === 'FUNCTION' && lower(node.function_name) === 'timezone' ? nodesOf(node.children) : [];
      const { value } = (zone?.value ?? {}) as Node;
      return turned ? [[typeof value === 'string' ? value : 'a computed zone', turned] as const] : [];
    });
  }

  /**
   * Returns the columns of `rows` that each result column is made of: in a single SELECT without subqueries, those that its expression
   * reads, otherwise all that the query reads, but none for `count(*)`. @param width Number of result columns.
   */
  madeOf(width: number): readonly (readonly QueryColumn[])[] {
    const { statements } = this.tree as { readonly statements?: readonly { readonly node: Node }[] };
    const { select_list: list, from_table: from } = statements?.[0]?.node ?? {};
    const { type, column_name_alias: renamed } = (from ?? {}) as Node;
    const isPlain = type === 'BASE_TABLE' && isEmpty(renamed) && this.#nodes.filter((node) => 'cte_map' in node).length === 1;
    const items = nodesOf(list).map((item) => ({ item, tree: new QueryTree({ ...item, alias: '' }, this.rows, this.#tables) }));
    const found = items.flatMap(({ item, tree }) => {
      const { function_name: name, children, filter } = item;
      if (isPlain && isStar(item)) {
        const excluded = new Set((item.exclude_list as readonly unknown[]).map(lower));
        return this.rows.filter((column) => !excluded.has(lower(column.name))).map((column) => [column]);
      }
      if (['count', 'count_star'].includes(lower(name)) && isEmpty(children) && filter === null) return [[]];
      if (!isPlain) return [this.reads];
      // An expression can use another's result by its name.
      const trees = new Set([tree]);
      for (const { words } of trees)
        for (const other of items) if (other.item.alias !== '' && words.has(lower(other.item.alias))) trees.add(other.tree);
      return [[...trees].flatMap(({ reads }) => reads)];
    });
    // Otherwise COLUMNS or unnest made several columns of one expression.
    return found.length === width ? found : new Array<typeof this.reads>(width).fill(this.reads);
  }
}

/** Returns whether a part of a select list is `*`, with or without excluded columns. */
function isStar(item: Node): boolean {
  const changes = [item.replace_list, item.rename_list, item.qualified_exclude_list];
  return item.class === 'STAR' && item.columns === false && item.expr === null && changes.every(isEmpty);
}

function isEmpty(list: unknown): boolean {
  return Array.isArray(list) && list.length === 0;
}

function nodesOf(list: unknown): readonly Node[] {
  return Array.isArray(list) ? (list as readonly Node[]) : [];
}

function lower(text: unknown): string {
  return typeof text === 'string' ? text.toLowerCase() : '';
}
