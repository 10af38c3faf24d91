import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { from, lastValueFrom, of, tap, toArray, type Observable } from 'rxjs';
import { collections, columnsOf, withheldOf, type Collection, type CollectionName } from '../../../src/collections/index.js';
import type { Column, Row, Value } from '../../../src/core/index.js';
import type { Warning } from '../../../src/core/errors.js';
import { emptyTally, keep, RowStream } from '../../../src/flow/index.js';
import type { ConfigPath, Fault, Lease, StepContext, Tally, Page, Step } from '../../../src/flow/index.js';
import { pageOf } from '../../support/pages.js';
import { steps } from '../../../src/steps/registry.js';
import { loadSteps, Queries, type PlanContext, type StepDefinition, type StepRuntime } from '../../../src/steps/index.js';

await loadSteps();

const released = new WeakSet<Lease>();

/** A page whose rows cannot be changed, and that remembers whether its lease was released. */
export function page<T extends Row>(number: number, rows: readonly T[]): Page<T> {
  const lease: Lease = { release: () => void released.add(lease) };
  return Object.freeze({ number, rows: Object.freeze(rows.map((row) => Object.freeze({ ...row }))), lease });
}

/** A stream of such pages, numbered from 1. */
export function pages<T extends Row>(...lists: readonly (readonly T[])[]): Page<T>[] {
  return lists.map((rows, index) => page(index + 1, rows));
}

/** Rows as a collection gives them: their columns and key are known. */
export function knownStream(pages$: Observable<Page<Row>>, columns: readonly Column[], key: readonly string[] = []): RowStream<Row> {
  return new RowStream<Row>({ columns, withheld: [], key, open: () => ({ pages$, undeclared: () => [], consistency: undefined }) });
}

/** The same for the other side of a join, which releases its pages. */
export function otherSide<T extends Row>(...lists: readonly (readonly T[])[]): Page<T>[] {
  return lists.map((rows, index) => pageOf(index + 1, rows));
}

/** Pages for a step: a blocking one releases them. */
export function pagesFor(definition: StepDefinition, ...lists: readonly (readonly Row[])[]): Page[] {
  return definition.blocking ? otherSide(...lists) : pages(...lists);
}

/** Sends pages through a step and collects what comes out, as whoever keeps pages does. To release them is not for steps to do. */
export async function through<In, Out>(step: Step<In, Out>, input: readonly Page<In>[]): Promise<Page<Out>[]> {
  const kept$ = from(input).pipe(step, tap<Page<Out>>(keep), toArray());
  const out = await lastValueFrom(kept$);
  const wrong = input.find(({ lease }) => released.has(lease));
  if (wrong) throw new Error(`a step released page ${wrong.number}`);
  return out;
}

/** Sends the rows of one page through a step. */
export async function rowsThrough<In extends Row, Out>(step: Step<In, Out>, rows: readonly In[]): Promise<readonly Out[]> {
  return (await through(step, pages(rows))).flatMap((out) => out.rows);
}

/** A context that remembers what was rejected. */
export interface WatchedContext extends StepContext {
  readonly tally: Tally;
  readonly rejects: { readonly row: Row; readonly fault: Fault }[];
}

export function watched(at = 'steps[1] tested'): WatchedContext {
  const rejects: { row: Row; fault: Fault }[] = [];
  return { at, tally: emptyTally(), rejects, reject: (row, fault) => rejects.push({ row, fault }) };
}

/** A sample row of each collection, as the client delivers it with all secrets revealed. */
export function sample(name: CollectionName, values: Row = {}): Row {
  const byType = { text: 'text', flag: 'Yes', integer: '41', decimal: '12.5', timestamp: '1709164800', date: '20240229' };
  const collection: Collection = collections[name];
  const fields = Object.entries(collection.fields).map(([column, { type }]) => [column, byType[type]]);
  return { ...Object.fromEntries(fields), ...values };
}

/** Two leads that differ in every value that steps look at. */
export const leads: readonly Row[] = [
  sample('leads', { lead_id: '1', bridge_id: '4', zipcode: '10001', email: 'a@b.c', lead_status: 'accepted', cell_phone: '2125550142' }),
  sample('leads', { lead_id: '2', bridge_id: '', zipcode: 'nowhere', email: '', lead_status: 'new', age: '', middlename: null }),
];

/** Sample rows for a definition that reads another collection. */
const others: Readonly<Record<string, readonly Row[]>> = {
  leads,
  bridges: [sample('bridges', { id: '4', title: 'Auto' })],
  areacodes: [sample('areacodes', { area_code: '212', city: '10001', state: 'NY' })],
  links: [sample('links')],
  users: [sample('users')],
};

/** What a step of a pipeline over leads gets, with a context that remembers. */
export function runtime(
  overrides: Partial<StepRuntime> = {},
): Required<Omit<StepRuntime, keyof StepContext | 'distinct'>> & WatchedContext {
  return {
    ...watched(),
    collection: collections.leads,
    collections,
    input: columnsOf(collections.leads),
    onError: 'reject',
    firstStart: new Date('2026-11-22T10:30:00Z'),
    hmacKey: 'sixteen characters at least',
    scratch: join(tmpdir(), 'leadstream-test', 'scratch'),
    lookup: ({ name, id }) => ({
      find: (wanted) => of((others[name] ?? []).filter((row) => row[id] === wanted)),
      concurrency: 4,
      counts: { requests: 0, hits: 0, misses: 0 },
    }),
    read: (collection, reveal) => {
      const visible = columnsOf(collection, reveal).map(({ name }) => name);
      const rows = (others[collection.name] ?? []).map((row) =>
        Object.fromEntries(visible.map((name): [string, Value] => [name, row[name] ?? null])),
      );
      return from(otherSide(rows));
    },
    ...overrides,
  };
}

/** A configuration as the definition's schema lets it through. */
export function parsed<C>(definition: StepDefinition<string, C>, config: unknown): C {
  return definition.config().parse(config);
}

export interface Planned {
  readonly columns: readonly Column[];
  readonly problems: readonly { readonly path: ConfigPath; readonly message: string }[];
  readonly warnings: readonly { readonly path: ConfigPath; readonly message: string }[];
}

/** The queries of all plans. */
const queries = new Queries();

/** Plans a configuration over the columns of leads, or others; one with a query after the query is described. */
export async function settled<C>(...given: Parameters<typeof planned<C>>): Promise<Planned> {
  const [definition, config, input = columnsOf(collections.leads)] = given;
  await definition.prepare?.(parsed(definition, config), input, queries);
  return planned(...given);
}

/** Plans a configuration over the columns of leads, or others. */
export function planned<C>(
  definition: StepDefinition<string, C>,
  config: unknown,
  input: readonly Column[] = columnsOf(collections.leads),
  context: Pick<PlanContext, 'hmacKey'> = {},
): Planned {
  const problems: { path: ConfigPath; message: string }[] = [];
  const warnings: { path: ConfigPath; message: string }[] = [];
  const plan = {
    collection: collections.leads,
    collections,
    queries,
    withheld: withheldOf(collections.leads),
    problem: (path: ConfigPath, message: string) => void problems.push({ path, message }),
    unset: (path: ConfigPath, _variable: string, message: string) => void problems.push({ path, message }),
    warn: (path: ConfigPath, { message }: Warning) => void warnings.push({ path, message }),
    ...context,
  };
  return { columns: definition.columns(parsed(definition, config), input, plan) ?? [], problems, warnings };
}

/** Opens a configuration as a pipeline does. */
export function opened<C>(definition: StepDefinition<string, C>, config: unknown, context: StepRuntime = runtime()): Step {
  return definition.open(parsed(definition, config), context);
}

/** Columns as if `cast` had turned them into these types. */
export function castTo(types: Readonly<Record<string, Column['type']>>): Column[] {
  return Object.entries(types).map(([name, type]) => ({ name, original: name, type, cast: true, sensitivity: 'plain' }));
}

/** Configurations of the steps, next to their examples, that are right for leads. */
const configurations: Readonly<Record<keyof typeof steps, readonly unknown[]>> = {
  dedupe: [{ by: ['uid', 'lead_status'] }],
  derive: [
    { zipcode: 'trim(zipcode)' },
    { age_in_years: 'num(age)', adult: 'num(age) >= 18.0', day: 'date(yearmonthday)', at: 'epoch(timestamp)', letters: 'size(email)' },
    { nothing: 'null', copy: 'lead_status', either: "blank(email) ? 'none' : email" },
  ],
  filter: ['true', 'false', 'blank(email)'],
  sample: [{ percent: 50 }, { percent: 100, by: ['uid', 'lead_status'] }],
  explode: [
    { field: 'uid', separator: '1' },
    { field: 'meta', empty: 'drop', on_error: 'null', position: 'n' },
  ],
  join: [
    { with: 'bridges', on: { bridge_id: 'id' } },
    { with: 'bridges', on: { bridge_id: 'id' }, select: ['crm_key', 'title'], reveal: ['crm_key'], as: 'b', type: 'inner' },
    { with: 'areacodes', on: { zipcode: 'city' }, pick: 'all', lookup: 'preload' },
    { with: 'users', on: { uid: 'uid' }, pick: { min: 'affid' } },
  ],
  select: [['zipcode', 'lead_id', 'middlename']],
  rename: [{}, { uid: 'lead_id', lead_id: 'uid' }, { ip_address: 'ip' }],
  cast: [{ types: { lead_accepted: 'flag', zipcode: 'text' } }, { types: { zipcode: 'integer' } }],
  sort: [{ by: ['age desc', 'lead_status'] }, { by: ['email'], memory: '32MB', on_error: 'null' }],
  limit: [1000],
  sql: [
    'SELECT age, yearmonthday AS day, avg(age) AS mean, max(timestamp) AS last FROM rows GROUP BY ALL ORDER BY ALL',
    { query: 'SELECT * EXCLUDE (timestamp) FROM rows', on_error: 'null', memory: '32MB' },
    'SELECT count(*) AS n, now() AS at, lead_accepted FROM rows GROUP BY lead_accepted',
  ],
  mask: [
    {},
    { preset: 'personal' },
    { preset: 'personal', as: 'hmac', zipcode: 'last4', age: 'keep', lead_id: 'redact' },
    { age: 'null', firstname: 'redact', lastname: 'drop', zipcode: 'last4', lead_id: 'hmac' },
  ],
  aggregate: [
    { by: ['lead_status', 'age'], compute: { all: 'count()', oldest: 'max(age)', sum: 'sum(age)', years: 'avg(num(age))' } },
    {
      compute: {
        first: 'min(yearmonthday)',
        at: 'max(timestamp)',
        yes: 'min(lead_accepted)',
        kinds: 'count_distinct(blank(email) ? null : email)',
      },
      memory: '32MB',
    },
    { by: ['is_valid', 'yearmonthday'], compute: { some: "count(lead_status == 'new' || size(email) > 3)" }, on_error: 'null' },
  ],
};

/** Every step with each of its examples and configurations, and with those given here. */
export function casesOf(more: Partial<Record<keyof typeof steps, readonly unknown[]>>) {
  return (Object.keys(steps) as (keyof typeof steps)[]).flatMap((name) => {
    const definition: StepDefinition = steps[name];
    const configs = [...definition.examples, ...configurations[name], ...(more[name] ?? [])];
    return configs.map((config) => [name, JSON.stringify(config), definition.variant?.(config) ?? definition, config] as const);
  });
}
