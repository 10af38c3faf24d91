import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join, relative } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { tap } from 'rxjs';
import { partsOfList, type Collection } from '../collections/index.js';
import { defined, failureOf, itemAt, LeadstreamError, SpecError, stoppedBy, textOf, type Row } from '../core/index.js';
import { batchOf, countOf } from '../flow/index.js';
import { fileText, loadCheck, referenceSource, type Extensions, type Pipeline, type PlannedSink, type TestShape } from '../plan/index.js';
import { extraStep, failedRunOf, runPipeline } from '../run/index.js';
import { openRows, startService, type RunningService } from '../service/index.js';
import { nothingToCommit, type SinkWriter } from '../sinks/index.js';
import { isRemote } from '../store/index.js';
import { differencesOf, type Difference, type Outcome, type TypeOf } from './compare.js';

export type { Difference } from './compare.js';

interface TestOptions extends Extensions {
  readonly cwd?: string;
  readonly only?: readonly string[];
  /** Called with each result as its test ends, and awaited. */
  readonly onResult?: (result: TestResult) => Promise<void> | void;
  readonly signal?: AbortSignal;
}

export interface TestResult {
  readonly pipeline: string;
  readonly name: string;
  /** Line of the test in the file, from 1. */
  readonly line: number;
  readonly ok: boolean;
  readonly differences: readonly Difference[];
}

/** `ok`: whether all passed; also true without tests. */
export type TestResults = Awaited<ReturnType<typeof testPipelines>>;

/** The key of a test's service. It opens nothing else. */
const key = 'made-up-key-of-a-test';

/** The addresses of a test's services, by name; `''` is that of `service`. */
type Urls = Readonly<Record<string, string>>;

/** Time for a response, as the service is on this machine. */
const longestMs = 1_000;

/**
 * Runs the tests of a pipeline file, each against its own service. The environment and `rate_limit` are not used.
 *
 * @throws {SpecError} With all problems of the file and its tests.
 */
export async function testPipelines(file: string, options: TestOptions = {}) {
  const { cwd = process.cwd(), only = [], signal, onResult, ...own } = options;
  const content = await fileText(file, { cwd });
  const { checkDocuments, specErrorOf } = await loadCheck();
  const { pipelines, issues } = await checkDocuments(content, file, { ...own, env: {}, cwd }, { lenient: true });
  if (issues.length > 0) throw specErrorOf(file, issues);

  /** Loads the pipeline of a test, whose outputs go to a folder, and which reads the services at these addresses. */
  async function loaded(index: number, { env: given, set = {} }: TestShape, folder: string, urls: Urls): Promise<Pipeline> {
    const [url] = Object.values(urls);
    const env = { LEADSTREAM_HMAC_KEY: key, ...given, LEADSTREAM_BASE_URL: url, LEADSTREAM_REST_API_KEY: key };
    // References to files resolve against the working directory.
    // Sinks of databases are not opened, and a test has no place for their secrets.
    const from = { ...referenceSource(env, cwd), baseDir: folder, sinkSecret: 'postgres://localhost/of_a_test' };
    const places = [['service'], ...Object.keys(urls).map((name) => ['services', name])];
    const accounts = places.flatMap((at) => ['base_url', 'auth'].map((part) => [...at, part]));
    const without = [...accounts, ['on_success'], ['on_failure']];
    const checked = await checkDocuments(content, file, { ...own, cwd, set }, { from, without });
    const { pipeline, issues, outputs, document } = itemAt(checked.pipelines, index);
    if (!pipeline) throw specErrorOf(file, issues.all);
    const isOutside = (path: string) => isRemote(path) || (isAbsolute(path) && relative(folder, path).startsWith('..'));
    const outside = outputs.find(({ path }) => path !== undefined && isOutside(path));
    if (!outside) return testing(pipeline, urls);
    const message = `${outside.path} is outside the test's folder, where a test must write; give it another path, with set or env`;
    throw new SpecError('E_SPEC_INVALID', file, [{ message, ...document.locate(outside.place) }]);
  }

  const tests: TestResult[] = [];
  const skipped: Pick<TestResult, 'pipeline' | 'name'>[] = [];
  for (const [index, { name: pipeline = '', plan, document, services, ...checked }] of pipelines.entries())
    for (const [place, test] of (checked.tests ?? []).entries()) {
      const { name } = test;
      if (only.length > 0 && !only.includes(pipeline) && !only.includes(name)) {
        skipped.push({ pipeline, name });
        continue;
      }
      const declared = Object.values(plan?.collections ?? {}).filter((list) => !list.served || plan?.reads.includes(list.name));
      const differences = await differencesIn(test, { services, declared }, (folder, urls) => loaded(index, test, folder, urls), signal);
      const { line } = document.locate(['tests', place, 'name']);
      const result = { pipeline, name, line, ok: differences.length === 0, differences };
      tests.push(result);
      await onResult?.(result);
    }
  return { ok: tests.every(({ ok }) => ok), tests, skipped };
}

/** Drops waiting times, other pipelines, and sinks that publish outside the file system. */
function testing(pipeline: Pipeline, urls: Urls): Pipeline {
  const { plan, connection } = pipeline;
  const services = Object.entries(pipeline.services).map(([name, service]) => {
    return [name, { ...service, connection: hasty(service.connection, urls[name]) }] as const;
  });
  const inFolder = (sink: PlannedSink) =>
    sink.definition.prints || sink.output !== undefined ? sink : { ...sink, definition: { ...sink.definition, open: discard } };
  return {
    ...pipeline,
    connection: hasty(connection, urls[partsOfList(plan.collection.name)[0]]),
    services: Object.fromEntries(services),
    plan: { ...plan, sinks: plan.sinks.map(inFolder) },
    together: undefined,
  };
}

function hasty(connection: Pipeline['connection'], baseUrl = connection.baseUrl): Pipeline['connection'] {
  const { ratePerSecond: _, timeoutMs = longestMs, retry, ...others } = connection;
  const hurry = { threads: 0, endWaitMs: 1, timeoutMs: Math.min(timeoutMs, longestMs), retry: { ...retry, baseMs: 1, capMs: 10 } };
  return { ...others, baseUrl, ...hurry };
}

function discard(): Promise<SinkWriter> {
  let rows = 0;
  return Promise.resolve({
    begin: () => Promise.resolve(),
    write: (page) => Promise.resolve(void (rows += countOf(page))),
    prepare: () => Promise.resolve({ rows, bytes: 0, total: rows, unchanged: 0, changed: 0, ...nothingToCommit }),
    abort: () => Promise.resolve(),
  });
}

async function differencesIn(
  test: TestShape,
  { services, declared }: { readonly services: readonly string[]; readonly declared: readonly Collection[] },
  load: (folder: string, urls: Urls) => Promise<Pipeline>,
  signal: AbortSignal | undefined,
): Promise<readonly Difference[]> {
  const base = await mkdtemp(join(tmpdir(), 'leadstream-test-'));
  const folder = join(base, 'work');
  const running: RunningService[] = [];
  try {
    await mkdir(folder);
    for (const service of services) running.push(await started(test, service, declared));
    const urls = services.map((service, index) => [service, itemAt(running, index).url] as const);
    const pipeline = await load(folder, Object.fromEntries(urls));
    const types = new Map(pipeline.plan.columns().map(({ name, type }) => [name, type]));
    const typeOf: TypeOf = (column) => types.get(column) ?? 'text';
    return await differencesOf(test.expect, await outcomeOf(pipeline, test, join(base, 'state'), typeOf, signal), folder, typeOf);
  } catch (failure) {
    if (signal?.aborted) throw stoppedBy(signal, 'the tests were stopped by their signal');
    if (!(failure instanceof LeadstreamError)) throw failure;
    return [{ at: 'setup', expected: 'a test that can run', received: `${failure.code}: ${failure.message}` }];
  } finally {
    for (const { close } of running) await close();
    await rm(base, { recursive: true, force: true });
  }
}

/** Starts a service of a test with its lists. */
async function started({ given, service }: TestShape, name: string, declared: readonly Collection[]) {
  const isIts = (list: string) => partsOfList(list)[0] === name;
  const rows = Object.entries(given).flatMap(([list, each]) => (isIts(list) ? [[partsOfList(list)[1], each] as const] : []));
  const own = declared.flatMap((list) => (isIts(list.name) ? [{ ...list, name: partsOfList(list.name)[1] }] : []));
  const source = await openRows(Object.fromEntries(rows), own);
  return startService({ source, declared: own, accounts: [{ restApiKey: key }], faults: service?.faults ?? [] });
}

async function outcomeOf(
  { plan, ...pipeline }: Pipeline,
  { now }: TestShape,
  stateDir: string,
  typeOf: TypeOf,
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  let rows: readonly Row[] = [];
  const last = extraStep('test', () => {
    // Another attempt of the run begins again.
    rows = [];
    return tap((page) => void (rows = rows.concat(batchOf(page).rows())));
  });
  const stdout = new PassThrough();
  const printed = text(stdout);
  const options = { stateDir, stdout, ...defined({ signal, now: now === undefined ? undefined : new Date(now) }) };
  const ended = await runPipeline({ ...pipeline, plan: { ...plan, steps: [...plan.steps, last] } }, options).then(
    (report) => ({ report, failure: undefined }),
    (thrown: unknown) => ({ report: failedRunOf(thrown), failure: failureOf(thrown) }),
  );
  stdout.end();
  if (signal?.aborted) throw ended.failure;
  const textsOf = (row: Row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, textOf(value, typeOf(name))]));
  return { ...ended, rows: rows.map(textsOf), stdout: await printed };
}
