/** Types of pipeline files, tables, the service and what tests want; `tsc --noEmit` is the test. */
import { expectTypeOf } from 'expect-type';
import {
  defineCollection,
  diagnoseService,
  explainPipeline,
  explainRow,
  failedRunOf,
  lintPipelines,
  loadPipeline,
  notifyRefused,
  loadPipelines,
  previewPipeline,
  publishedManifest,
  RateLimiters,
  readGroups,
  recoverRuns,
  rollbackTable,
  runPipeline,
  summaryOf,
  tableRuns,
  testPipelines,
  verifyTable,
  type Collection,
  type Diagnosis,
  type FailedRunReport,
  type Manifest,
  type Pipeline,
  type Row,
  type RowExplanation,
  type RunReport,
  type TableRun,
  type TestResults,
  type Verification,
  type Warning,
} from '../../src/index.js';
import { standalone } from '../../src/testing.js';
import {
  accountsFromEnv,
  generate,
  isFault,
  openDirectory,
  startService,
  type Account,
  type DataSource,
  type RunningService,
} from '../../src/service/index.js';

declare const pipeline: Pipeline;
declare const report: RunReport;

// pipeline files
// @ts-expect-error A file is named by its path.
void loadPipeline(new URL('file:///p.yaml'));
// @ts-expect-error Values are texts, as on the command line.
void loadPipelines('p.yaml', { set: { 'service.limit': 100 } });
// @ts-expect-error Messages want the name of the file.
void loadPipeline({ text: 'name: x' });
// @ts-expect-error What is explained was loaded.
explainPipeline('p.yaml');
expectTypeOf(explainRow(pipeline, ['1000001'])).resolves.toEqualTypeOf<RowExplanation>();
// @ts-expect-error A key has a value for each of its columns.
void explainRow(pipeline, '1000001');
// @ts-expect-error What is previewed was loaded.
void previewPipeline('p.yaml');
// @ts-expect-error Each file is checked by itself.
void lintPipelines(['p.yaml']);
void runPipeline(pipeline, { limiters: new RateLimiters() });
// @ts-expect-error A service is added when it is asked.
new RateLimiters(['https://data.example']);
expectTypeOf(summaryOf(report)).toEqualTypeOf<string>();
// @ts-expect-error A report is what a run gives.
summaryOf(pipeline);
expectTypeOf(failedRunOf(new Error('x'))).toEqualTypeOf<FailedRunReport | undefined>();
// @ts-expect-error The error is missing.
failedRunOf();
expectTypeOf(notifyRefused(new Error('x'), { only: ['nightly-leads'] })).resolves.toEqualTypeOf<readonly Warning[]>();
// @ts-expect-error What was thrown is missing.
void notifyRefused();
expectTypeOf(recoverRuns('.leadstream')).resolves.toEqualTypeOf<readonly string[]>();
// @ts-expect-error Which folder has to be said.
void recoverRuns();
expectTypeOf(testPipelines('p.yaml')).resolves.toEqualTypeOf<TestResults>();
// @ts-expect-error Tests stand in a file.
void testPipelines(pipeline);
const connection = { baseUrl: 'https://data.example', auth: { rest_api_key: 'key' } };
expectTypeOf(diagnoseService(connection, { ratePerSecond: 5 })).resolves.toEqualTypeOf<Diagnosis>();
const declared = defineCollection('orders', { path: '/orders', key: ['no'], paging: { scheme: 'page' }, fields: { no: 'text' } });
void diagnoseService({ ...connection, collections: [declared] }, { collections: ['leads', 'orders'] });
// @ts-expect-error That is no collection of the service, and none of the connection's own.
void diagnoseService(connection, { collections: ['orders'] });
// @ts-expect-error Without credentials nothing is measured.
void diagnoseService({ baseUrl: 'https://data.example' });

// tables
expectTypeOf(publishedManifest('lake/leads')).resolves.toEqualTypeOf<Manifest | undefined>();
// @ts-expect-error A table is named by its path.
void publishedManifest(pipeline);
expectTypeOf(tableRuns('lake/leads')).resolves.toEqualTypeOf<readonly TableRun[]>();
// @ts-expect-error The path is missing.
void tableRuns();
expectTypeOf(verifyTable('lake/leads', { stateDir: '.leadstream' })).resolves.toEqualTypeOf<Verification>();
// @ts-expect-error A run is named by its id.
void verifyTable('lake/leads', { run: 1 });
expectTypeOf(rollbackTable('lake/leads')).resolves.toEqualTypeOf<{
  readonly from: string | undefined;
  readonly to: string;
  readonly evidence: Verification['evidence'];
}>();
// @ts-expect-error Options are named.
void rollbackTable('lake/leads', 'run-1');
expectTypeOf(readGroups('part.parquet', ['lead_id'])).toEqualTypeOf<AsyncIterable<readonly Row[]>>();
// @ts-expect-error Columns are a list.
readGroups('part.parquet', 'lead_id');

// the service
expectTypeOf(generate({ leads: 10 })).toEqualTypeOf<DataSource>();
// @ts-expect-error Area codes are those that there are.
generate({ areacodes: 10 });
expectTypeOf(openDirectory('data')).resolves.toEqualTypeOf<DataSource>();
// @ts-expect-error The folder is missing.
void openDirectory();
declare const own: readonly Collection[];
expectTypeOf(openDirectory('data', own)).resolves.toEqualTypeOf<DataSource>();
expectTypeOf(accountsFromEnv(process.env)).toEqualTypeOf<readonly Account[]>();
// @ts-expect-error An environment has texts.
accountsFromEnv({ LEADSTREAM_REST_API_KEY: 7 });
expectTypeOf(startService({ source: generate(), accounts: [{ restApiKey: 'key' }] })).resolves.toEqualTypeOf<RunningService>();
expectTypeOf(isFault('503@page=1')).toEqualTypeOf<boolean>();
// @ts-expect-error A fault is a text.
isFault(503);
// @ts-expect-error Faults are a list.
void startService({ source: generate(), accounts: [], faults: 'cut' });
// @ts-expect-error Nobody could read.
void startService({ source: generate() });

// what tests want
// @ts-expect-error Messages want a name.
standalone();
