/** Types of pipeline files, tables, the service and what tests want; `tsc --noEmit` is the test. */
import { expectTypeOf } from 'expect-type';
import { pipe, type OperatorFunction } from 'rxjs';
import {
  failedRunOf,
  filter,
  lintPipelines,
  loadPipeline,
  loadPipelines,
  readGroups,
  compactTable,
  rollbackTable,
  select,
  tableFiles,
  Stores,
  tableRuns,
  TableSets,
  verifyTable,
} from '../../src/index.js';
import type { Collection, FailedRunReport, Page, Row, TableFiles, TableRun, Verification } from '../../src/index.js';
import { rowsOf, standalone, startService as startTestService, type TestService } from '../../src/testing.js';
import { accountsFromEnv, generate, isFault, openDirectory, openRows, startService } from '../../src/service/index.js';
import type { Account, DataSource, RunningService } from '../../src/service/index.js';

// pipeline files
// @ts-expect-error A file is named by its path.
void loadPipeline(new URL('file:///p.yaml'));
// @ts-expect-error Values are texts, as on the command line.
void loadPipelines('p.yaml', { set: { 'service.limit': 100 } });

expectTypeOf(new TableSets(await loadPipelines('p.yaml')).held).toEqualTypeOf<() => void>();
// @ts-expect-error It needs to know the pipelines that publish together.
void new TableSets();
// @ts-expect-error Messages want the name of the file.
void loadPipeline({ text: 'name: x' });
// @ts-expect-error Each file is checked by itself.
void lintPipelines(['p.yaml']);
expectTypeOf(failedRunOf(new Error('x'))).toEqualTypeOf<FailedRunReport | undefined>();
// @ts-expect-error The error is missing.
failedRunOf();

// tables
expectTypeOf(tableRuns('lake/leads')).resolves.toEqualTypeOf<readonly TableRun[]>();
// @ts-expect-error The path is missing.
void tableRuns();
expectTypeOf(tableFiles('lake/leads', { stores: new Stores() })).resolves.toEqualTypeOf<TableFiles>();
// @ts-expect-error A table is named by its path.
void tableFiles(['lake/leads']);
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
expectTypeOf(compactTable('lake/leads')).resolves.toHaveProperty('to').toEqualTypeOf<string>();
// @ts-expect-error What becomes of the files is not to choose.
void compactTable('lake/leads', { to: 'run-1' });
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
expectTypeOf(openRows({ orders: [{ no: 7 }] }, own)).resolves.toEqualTypeOf<DataSource>();
// @ts-expect-error Rows are a list.
void openRows({ orders: { no: 7 } });
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
declare const sold: OperatorFunction<Page<{ readonly a: string }>, Page<{ readonly b: number }>>;
expectTypeOf(rowsOf(sold, [{ a: '1' }])).resolves.toEqualTypeOf<readonly { readonly b: number }[]>();
expectTypeOf(
  rowsOf(
    pipe(
      filter(({ a }: { a: string }) => a === ''),
      select(['a']),
    ),
    [{ a: '' }],
  ),
).resolves.items.toEqualTypeOf<{ a: string }>();
// @ts-expect-error The step needs another field.
void rowsOf(sold, [{ b: '1' }]);
expectTypeOf(startTestService({ leads: [{ lead_id: '1', age: 41 }] }, ['cut'])).resolves.toEqualTypeOf<TestService>();
// @ts-expect-error No collection has this name.
void startTestService({ lead: [] });
// @ts-expect-error Messages want a name.
standalone();
