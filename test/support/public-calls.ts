import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { from, lastValueFrom, map, of, toArray, type Observable } from 'rxjs';
import * as leadstream from '../../src/leadstream.js';
import type { Page, RowStream } from '../../src/leadstream.js';
import * as pipelines from '../../src/pipelines.js';
import * as service from '../../src/service/index.js';
import * as tables from '../../src/tables.js';
import * as testing from '../../src/testing.js';
import { filesBelow } from './temporary.js';
import { testKey } from './services.js';

const modules: Readonly<Record<string, unknown>> = { ...leadstream, ...pipelines, ...tables, ...service, ...testing };

/** What calls work on. */
export interface Place {
  /** An empty folder. */
  readonly folder: string;
  /** Address of a service with a few users. */
  readonly url: string;
  /** A pipeline file, its environment, and an existing table with a kept run. */
  readonly file: string;
  readonly text: string;
  readonly env: Readonly<Record<string, string>>;
  readonly table: string;
}

/** A valid call of a public function. */
export interface Call {
  /** Returns the arguments. Options are literal objects, so that others can be added. */
  given(place: Place): readonly unknown[] | Promise<readonly unknown[]>;
  /** Returns the result in a comparable form; if the call only prepares something, the result of that. */
  outcome(result: unknown, place: Place): unknown;
  /** Returns the object of a method. */
  on?(place: Place): object;
}

/** Calls a function as a program without types does. */
export async function called(name: string, { on, outcome }: Call, given: readonly unknown[], place: Place): Promise<unknown> {
  const target = on?.(place);
  const of = target === undefined ? modules[name] : Reflect.get(target, name.split('.')[1] ?? '');
  if (typeof of !== 'function') throw new Error(`${name} is no function`);
  return outcome(await Reflect.apply(of, target, [...given]), place);
}

const rows = [
  { uid: '1', name: 'a', age: '41', tags: 'x,y' },
  { uid: '2', name: 'b', age: '7', tags: 'z' },
];
const columns = Object.keys(rows[0] ?? {}).map(
  (name) => ({ name, original: name, type: 'text', cast: false, sensitivity: 'plain' }) as const,
);
const page = { number: 1, rows, lease: { release: () => {} } };
const pages = (): Observable<Page<(typeof rows)[number]>> => of(page);
const stream = () => leadstream.fromPages(pages(), columns);
const connection = ({ url }: Place) => ({
  ...{ baseUrl: url, auth: { rest_api_key: testKey }, endWaitMs: 0, proxy: false, retry: { attempts: 1 } },
});
const users = (place: Place) => leadstream.connect({ ...connection(place), proxy: false }).users;
const aborted = () => ({ signal: AbortSignal.abort() });

const inRows = (read: unknown) => lastValueFrom(from(read as RowStream<unknown>).pipe(toArray()));
const none = () => undefined;
const asItIs = (result: unknown) => result;
/** Returns the result of an operator. */
const ofStep = (step: unknown) => inRows(stream().pipe(step as ReturnType<typeof leadstream.mapRows>));
const step = (...given: readonly unknown[]): Call => ({ given: () => given, outcome: ofStep });
const value = (...given: readonly unknown[]): Call => ({ given: () => given, outcome: asItIs });

async function written(sink: unknown, { folder }: Place): Promise<unknown> {
  const { rows, bytes } = await leadstream.writeTo(stream(), sink as Promise<leadstream.SinkWriter>);
  return { rows, bytes, files: await filesBelow(folder) };
}
const sink = (options: (place: Place) => object): Call => ({ given: (place) => [options(place)], outcome: written });

const loaded = ({ text, file, env, folder }: Place) => pipelines.parsePipeline(text, file, { env, baseDir: folder });
const loading = ({ env, folder }: Place) => ({ env, baseDir: folder });
const named = (result: unknown) => [result].flat().map((each) => (each as pipelines.Pipeline).name);

const collectionFields = { no: { type: 'text' }, total: { type: 'integer' } };

/** A call of every public function that takes options or arguments of ours. */
export const calls: Readonly<Record<string, Call>> = {
  connect: {
    given: (place) => [connection(place)],
    async outcome(made) {
      const { users, close } = made as leadstream.Service;
      return inRows(users).finally(() => void close());
    },
  },
  'CollectionStream.with': { given: () => [{}], on: users, outcome: inRows },
  'CollectionStream.find': { given: () => ['1', {}], on: users, outcome: asItIs },
  'RowStream.toReadable': { given: () => ['ndjson'], on: stream, outcome: inRows },
  'RowStream.toWeb': { given: () => ['ndjson'], on: stream, outcome: inRows },
  'RowStream.cached': { given: () => [{ maxAgeMs: 1000 }], on: stream, outcome: inRows },
  defineCollection: value('orders', { path: '/api/orders', key: ['no'], paging: { scheme: 'page' }, fields: collectionFields }),
  defineStep: { given: () => ['mine', { open: () => asItIs }], outcome: (made) => ofStep((made as () => unknown)()) },
  defineSink: {
    given: () => ['mine', { open: () => ({ write: none, commit: none, abort: none }) }],
    outcome: (made, place) => written((made as () => unknown)(), place),
  },
  columnsOf: value(leadstream.collections.users, []),
  typesOf: value(leadstream.collections.users, []),
  personalMasks: value(leadstream.collections.users, 'hmac'),
  areaCode: value('1 (212) 555-0142'),
  zipCity: value('10001'),
  zipPrefix: value('10001'),
  zipState: value('10001'),
  watch: { given: () => [{}], outcome: (stop) => (stop as () => void)() },
  deliver: { given: () => [() => Promise.resolve()], outcome: (operator) => lastValueFrom(pages().pipe(operator as never, toArray())) },
  mapRows: step(({ uid }: { readonly uid: string }) => ({ uid }), { columns: { uid: 'text' } }),
  filterRows: step(() => true),
  liftRows: step(map(asItIs), {}),
  mapAsync: step((given: typeof page) => Promise.resolve(given.rows), 2, {}),
  fromPages: { given: () => [pages(), columns], outcome: inRows },
  pagedSource: {
    given: () => [(number: number) => of(number > 2 ? [] : [number]), {}],
    outcome: (pages$) => inRows(leadstream.fromPages(pages$ as Observable<Page<number>>)),
  },
  aggregate: step(['uid'], { n: 'count' }, {}),
  cast: step({ age: 'integer' }, {}),
  dedupe: step(['uid'], {}),
  derive: step({ twice: doubled }),
  explode: step('tags', { separator: ',' }),
  filter: step(() => true),
  join: { given: () => [stream(), { on: { uid: 'uid' }, as: 'other', select: ['name'] }], outcome: ofStep },
  limit: step(1),
  mask: step({ name: 'hmac' }, { hmacKey: 'a key of some length' }),
  rename: step({ name: 'title' }),
  sample: step({ percent: 50, by: ['uid'] }),
  select: step(['uid']),
  sort: step([{ field: 'uid', type: 'text', descending: true }], {}),
  csv: sink(({ folder }) => ({ path: join(folder, 'out.csv') })),
  ndjson: sink(({ folder }) => ({ path: join(folder, 'out.ndjson') })),
  parquet: sink(({ folder }) => ({ path: join(folder, 'table') })),
  stdout: { given: () => [{}, { stdout: new PassThrough().resume() }], outcome: written },
  writeTo: {
    given: ({ folder }) => [stream(), whenTaken(() => leadstream.csv({ path: join(folder, 'out.csv') })), {}],
    outcome: asItIs,
  },
  connectionFromEnvironment: { given: ({ env }) => [env], outcome: asItIs },
  diagnoseService: {
    // Nothing listens there, so that it ends soon.
    given: (place) => [
      { ...connection(place), baseUrl: 'http://127.0.0.1:9' },
      { collections: ['users'], ratePerSecond: 1e6, ...aborted() },
    ],
    outcome: (found) => (found as pipelines.Diagnosis).findings.map(({ check, outcome }) => [check, outcome]),
  },
  explainPipeline: { given: async (place) => [await loaded(place)], outcome: asItIs },
  explainRow: { given: async (place) => [await loaded(place), ['1'], {}], outcome: asItIs },
  lintPipelines: { given: (place) => [place.file, loading(place)], outcome: asItIs },
  loadCollections: { given: (place) => [place.file, loading(place)], outcome: asItIs },
  loadPipeline: { given: (place) => [place.file, loading(place)], outcome: named },
  loadPipelines: { given: (place) => [place.file, loading(place)], outcome: named },
  parsePipeline: { given: (place) => [place.text, place.file, loading(place)], outcome: named },
  parsePipelines: { given: (place) => [place.text, place.file, loading(place)], outcome: named },
  previewPipeline: { given: async (place) => [await loaded(place), {}], outcome: asItIs },
  runPipeline: {
    given: async (place) => [await loaded(place), { stateDir: join(place.folder, 'state') }],
    outcome: (report) => (report as pipelines.RunReport).sinks,
  },
  notifyRefused: { given: () => [new Error('not of a file'), {}], outcome: asItIs },
  testPipelines: { given: ({ file }) => [file, {}], outcome: asItIs },
  recoverRuns: { given: ({ folder }) => [folder, folder], outcome: asItIs },
  verifyTable: { given: ({ table }) => [table, {}], outcome: asItIs },
  rollbackTable: { given: async (place) => [place.table, { stateDir: await forward(place) }], outcome: asItIs },
  publishedManifest: { given: ({ table }) => [table], outcome: asItIs },
  tableRuns: { given: ({ table }) => [table], outcome: asItIs },
  createStallDetector: { given: () => [4, 1000], outcome: () => 'made' },
};

/** Publishes the newest run of a table again, so that a rollback is possible. @returns The state folder. */
async function forward({ table, folder }: { readonly table: string; readonly folder: string }): Promise<string> {
  const stateDir = join(folder, 'state');
  const [newest] = await tables.tableRuns(table);
  if (newest?.state === 'kept') await tables.rollbackTable(table, { to: newest.run, stateDir });
  return stateDir;
}

/** Converts the result of a call to a text that can be compared. */
export function comparable(outcome: unknown): string {
  return JSON.stringify(outcome, (_key, inner: unknown) => (typeof inner === 'bigint' ? `${inner}n` : inner)) ?? 'undefined';
}

function doubled(row: Readonly<Record<string, string>>): string {
  return `${row['uid']}${row['uid']}`;
}

/** Makes a promise that starts when it is awaited: an argument that is replaced is never opened. */
function whenTaken<T>(begin: () => Promise<T>): PromiseLike<T> {
  return { then: (resolved, rejected) => begin().then(resolved, rejected) };
}
