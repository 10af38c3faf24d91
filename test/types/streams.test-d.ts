/** Types of streams of pages, errors and pipelines; `tsc --noEmit` is the test. */
import { expectTypeOf } from 'expect-type';
import { map, type Observable } from 'rxjs';
import {
  catalogue,
  ClosedPipeError,
  collections,
  columnsOf,
  connectionFromEnvironment,
  csv,
  dedupe,
  deliver,
  derive,
  filter as filterRows,
  fromPages,
  GateError,
  join,
  LeadstreamError,
  lintPipelines,
  loadPipeline,
  loadPipelines,
  mapAsync,
  mapRows,
  ndjson,
  parquet,
  postgres,
  rename,
  runPipeline,
  select,
  SinkError,
  SourceError,
  SpecError,
  stdout,
  Stores,
  StepError,
  type CodeOf,
  type ConnectOptions,
  type ErrorCode,
  type FailureKind,
  type GeneralCode,
  type Lead,
  type Lease,
  type LintResult,
  type Page,
  type Pipeline,
  type Violation,
  type RunOptions,
  type RowStream,
  type RunReport,
  type Service,
  type SinkWriter,
  type StepContext,
  type Value,
  type Written,
  writeTo,
} from '../../src/index.js';
import { standalone } from '../../src/testing.js';

declare const service: Service;
const { pages$: leads$ } = service.leads;
declare const page: Page<Lead>;

// a page holds rows and the right to be in memory, and is read-only
expectTypeOf(page.rows).toEqualTypeOf<readonly Lead[]>();
expectTypeOf(page.lease).toEqualTypeOf<Lease>();
// @ts-expect-error The rows of a page are read-only.
page.rows.push(page.rows[0]);

// rows that are read once for many
expectTypeOf(service.leads.cached({ maxAgeMs: 60_000 })).toEqualTypeOf<RowStream<Lead>>();
// @ts-expect-error For how long has to be said.
service.leads.cached({});

// what is written: rows, or pages with their columns, into a sink or the promise of one
expectTypeOf(writeTo(service.leads, csv({ path: 'leads.csv' }))).resolves.toEqualTypeOf<Written>();
void writeTo(leads$, await csv({ path: 'leads.csv' }), { columns: columnsOf(collections.leads), signal: undefined });
// @ts-expect-error Rows one by one are no pages.
void writeTo(service.leads.rows$, csv({ path: 'leads.csv' }));
// @ts-expect-error A path is no sink.
void writeTo(service.leads, 'leads.csv');

// pipe: steps, and operators for pages of one's own
const own = <T>(pages$: Observable<Page<T>>) => pages$.pipe(map(({ rows, ...page }) => ({ ...page, rows: rows.slice(0, 1) })));
expectTypeOf(service.leads.pipe(own)).toEqualTypeOf<RowStream<Lead>>();
expectTypeOf(service.leads.pipe()).toEqualTypeOf<RowStream<Lead>>();
expectTypeOf(
  service.leads.pipe(
    filterRows((lead) => lead.lead_status === 'new'),
    derive({ prefix: (lead) => lead.zipcode?.slice(0, 3) }),
    own,
    select(['lead_id', 'prefix', 'bridge_id']),
    join(service.bridges, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'] }),
    mapRows((row) => ({ ...row, length: row.prefix?.length ?? 0 })),
    filterRows((row) => row.length > 0),
    rename({ bridge_title: 'title' }),
    derive({ shout: (row) => row.title?.toUpperCase() }),
    mapAsync(async (page) => page.rows.map(({ shout, lead_id }) => ({ shout, lead_id })), 2),
    dedupe(['lead_id']),
    mapRows((row) => row.shout),
  ),
).toEqualTypeOf<RowStream<string | null>>();
service.leads.pipe(
  select(['lead_id']),
  filterRows((row) => row.lead_id !== ''),
  // @ts-expect-error A row has lost this field, and the other steps are not to blame.
  derive({ prefix: (row) => row.zipcode }),
  mapRows((row) => row.prefix),
  filterRows(() => true),
);
// @ts-expect-error An operator for rows.
service.leads.pipe(map((lead: Lead) => lead.zipcode));

// rows of pages that something else gives
expectTypeOf(fromPages(leads$)).toEqualTypeOf<RowStream<Lead>>();
// @ts-expect-error Rows are no pages.
fromPages(service.leads.rows$);

expectTypeOf(leads$.pipe(mapRows((lead) => lead.zipcode?.length ?? 0))).toEqualTypeOf<Observable<Page<number>>>();
expectTypeOf(leads$.pipe(filterRows((lead) => lead.email !== ''))).toEqualTypeOf<Observable<Page<Lead>>>();
expectTypeOf(leads$.pipe(mapAsync(async (page) => page.rows.map(({ uid }) => uid), 4))).toEqualTypeOf<Observable<Page<string | null>>>();
expectTypeOf(leads$.pipe(deliver(async (page) => void page.rows))).toEqualTypeOf<Observable<number>>();
// @ts-expect-error A writer says when it is done.
leads$.pipe(deliver((page) => page.rows.length));

// @ts-expect-error A row has no such field.
leads$.pipe(mapRows((lead) => lead.zip));

// Columns are those of the rows that come out, each with a type that its values have.
leads$.pipe(mapRows(({ lead_id }) => ({ id: lead_id, n: 1n, at: new Date() }), { columns: { id: 'text', n: 'integer', at: 'date' } }));
leads$.pipe(mapAsync(async () => [{ id: 'a' }], 4, { columns: { id: { type: 'text', sensitivity: 'plain' } } }));
// @ts-expect-error The column n is missing.
leads$.pipe(mapRows(({ lead_id }) => ({ id: lead_id, n: 1n }), { columns: { id: 'text' } }));
// @ts-expect-error A number is no text.
leads$.pipe(mapRows(() => ({ n: 1 }), { columns: { n: 'text' } }));
// @ts-expect-error A condition is true or false.
leads$.pipe(filterRows((lead) => lead.email));
// @ts-expect-error How many pages at once has to be said.
leads$.pipe(mapAsync(async (page) => page.rows));

// sinks
expectTypeOf(parquet({ path: 'lake/leads', threads: 0 })).resolves.toEqualTypeOf<SinkWriter>();
expectTypeOf(postgres({ url: 'postgres://localhost/crm', table: 'leads', mode: 'append' })).resolves.toEqualTypeOf<SinkWriter>();
// @ts-expect-error There is no such mode.
void postgres({ url: 'postgres://localhost/crm', table: 'leads', mode: 'upsert' });
// @ts-expect-error A table has a name.
void postgres({ url: 'postgres://localhost/crm' });
expectTypeOf(stdout()).resolves.toEqualTypeOf<SinkWriter>();
// @ts-expect-error There is no such table.
void parquet({ path: 'lake/leads', table: 'hudi' });
void parquet({ path: 'lake/leads', mode: 'merge', key: ['lead_id'], ignore: ['meta'], on_missing: 'mark', max_deleted: '5%' });
// @ts-expect-error There is no such mode.
void parquet({ path: 'lake/leads', mode: 'upsert' });
expectTypeOf<Written['merged']>().toExtend<{ readonly inserted: number; readonly deleted: number } | undefined>();
// @ts-expect-error There is no such engine.
void parquet({ path: 'lake/leads', engine: 'duckdb' });
// @ts-expect-error There is no such format.
void stdout({ format: 'xml' });
// @ts-expect-error A file has a path.
void ndjson();
// @ts-expect-error A file has a path.
void csv({ delimiter: ';' });
// @ts-expect-error Conditions are for pipeline files.
void csv({ path: 'leads.csv', where: 'true' });
void csv({ path: 's3://bucket/leads.csv' }, { stores: new Stores({ endpoint: 'http://localhost:9000', path_style: true }) });
// @ts-expect-error Credentials are found by the SDK.
void new Stores({ credentials: 'key' });

// the connection that the environment describes
expectTypeOf(connectionFromEnvironment(process.env)).toExtend<ConnectOptions | { readonly missing: string }>();
// @ts-expect-error An environment has texts.
connectionFromEnvironment({ LEADSTREAM_BASE_URL: 1 });

// contexts
expectTypeOf(standalone('mine')).toEqualTypeOf<StepContext>();
expectTypeOf<Value>().toEqualTypeOf<string | boolean | bigint | number | Date | null>();

// errors
expectTypeOf(catalogue).toHaveProperty('E_USAGE');
expectTypeOf<keyof typeof catalogue>().toEqualTypeOf<ErrorCode>();
expectTypeOf(SpecError).instance.toExtend<LeadstreamError>();
expectTypeOf(SourceError).instance.toExtend<LeadstreamError>();
expectTypeOf(StepError).instance.toExtend<LeadstreamError>();
expectTypeOf(SinkError).instance.toExtend<LeadstreamError>();
expectTypeOf(GateError).instance.toExtend<LeadstreamError>();
expectTypeOf(LeadstreamError).instance.toExtend<Error>();
expectTypeOf<SourceError['kind']>().toEqualTypeOf<FailureKind>();
expectTypeOf<LeadstreamError['exit']>().toEqualTypeOf<number>();
expectTypeOf(GateError.of).parameter(0).toEqualTypeOf<readonly Violation[]>();
new StepError('E_STEP_FIELD', 'x');
// @ts-expect-error A code that the catalogue does not have.
new StepError('E_STEP_FEILD', 'x');

// every class has the codes of its own family, and knows it
expectTypeOf<SinkError['code']>().toEqualTypeOf<CodeOf<'SINK'>>();
expectTypeOf<Violation['code']>().toEqualTypeOf<GateError['code']>();
new SpecError('E_SPEC_INVALID', 'p.yaml', []);
// @ts-expect-error A code of sources.
new SpecError('E_SOURCE_AUTH', 'p.yaml', []);
new SourceError('E_SOURCE_AUTH', 'permanent', 'x');
// @ts-expect-error A code of pipeline files.
new SourceError('E_SPEC_INVALID', 'permanent', 'x');
// @ts-expect-error A code of runs.
new StepError('E_RUN_STALLED', 'x');
new SinkError('E_SINK_PATH', 'x');
// @ts-expect-error A code of gates.
new SinkError('E_GATE_MATCH', 'x');
new GateError('E_GATE_MATCH', 'x');
// @ts-expect-error A code of sinks.
new GateError('E_SINK_PATH', 'x');
// @ts-expect-error A gate refuses with a code of gates.
GateError.of([{ code: 'E_SINK_PATH', message: 'x' }]);
for (const code of ['E_USAGE', 'E_DATA', 'E_RUN_FAILED', 'E_SPEC_REFERENCE'] as const) new LeadstreamError(code, 'x');
// @ts-expect-error A code of sinks, whose class says who has to act.
new LeadstreamError('E_SINK_PATH', 'x');
expectTypeOf<GeneralCode>().toExtend<LeadstreamError['code']>();
expectTypeOf<LeadstreamError['code']>().toEqualTypeOf<ErrorCode>();

expectTypeOf(ClosedPipeError).instance.toExtend<SinkError>();
// @ts-expect-error A code of sources.
new ClosedPipeError('E_SOURCE_AUTH', 'x');

// pipelines
expectTypeOf(loadPipeline).returns.resolves.toEqualTypeOf<Pipeline>();
expectTypeOf(lintPipelines).returns.resolves.toEqualTypeOf<LintResult>();
expectTypeOf(loadPipelines).returns.resolves.toEqualTypeOf<readonly Pipeline[]>();
expectTypeOf<Pipeline['schema']>().toEqualTypeOf<'evolve' | 'freeze'>();
expectTypeOf(runPipeline).parameter(1).toExtend<{ readonly restart?: boolean } | undefined>();
expectTypeOf<{ readonly restart: undefined }>().not.toExtend<RunOptions>();
// @ts-expect-error Several pipelines are run one by one.
void runPipeline(await loadPipelines({ text: '', file: 'p.yaml' }));
expectTypeOf(runPipeline).returns.resolves.toEqualTypeOf<RunReport>();
// @ts-expect-error A pipeline is what was loaded, not its name.
void runPipeline('leads.yaml');
