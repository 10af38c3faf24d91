import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { defined, failureOf, LeadstreamError, stoppedBy } from '../core/index.js';
import type { Extensions } from '../plan/index.js';
import type { PipelineTest, TestedPipeline } from '../run/index.js';
import type { Difference, Outcome } from './compare.js';

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

export interface TestResults {
  /** Whether all passed; also true without tests. */
  readonly ok: boolean;
  readonly tests: readonly TestResult[];
  readonly skipped: readonly Pick<TestResult, 'pipeline' | 'name'>[];
}

/** The key of a test's service. It opens nothing else. */
const key = 'made-up-key-of-a-test';

/** Runs the tests of a pipeline file, each against its own service. The environment and `rate_limit` are not used. */
export async function testPipelines(file: string, options: TestOptions = {}): Promise<TestResults> {
  const { cwd = process.cwd(), only = [], signal, onResult, ...own } = options;
  const { loadTests } = await import('../run/index.js');
  const tests: TestResult[] = [];
  const skipped: Pick<TestResult, 'pipeline' | 'name'>[] = [];
  for (const test of await loadTests(file, { cwd, ...own })) {
    const { pipeline, name, line } = test;
    if (only.length > 0 && !only.includes(pipeline) && !only.includes(name)) {
      skipped.push({ pipeline, name });
      continue;
    }
    const differences = await differencesIn(test, signal);
    const result = { pipeline, name, line, ok: differences.length === 0, differences };
    tests.push(result);
    await onResult?.(result);
  }
  return { ok: tests.every(({ ok }) => ok), tests, skipped };
}

async function differencesIn(test: PipelineTest, signal: AbortSignal | undefined): Promise<readonly Difference[]> {
  const [{ openDirectory, startService }, { differencesOf }] = await Promise.all([import('../service/index.js'), import('./compare.js')]);
  const { declared, service: { faults } = { faults: [] } } = test;
  const base = await mkdtemp(join(tmpdir(), 'leadstream-test-'));
  const [folder, given] = [join(base, 'work'), join(base, 'given')];
  try {
    await Promise.all([mkdir(folder), mkdir(given)]);
    for (const [name, rows] of Object.entries(test.given))
      await writeFile(join(given, `${name}.ndjson`), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const source = await openDirectory(given, declared);
    const { url, close } = await startService({ source, declared, accounts: [{ restApiKey: key }], faults });
    try {
      const tested = await test.open({ folder, url, key });
      const types = new Map(tested.pipeline.plan.columns().map(({ name, type }) => [name, type]));
      const outcome = await outcomeOf(tested, test, join(base, 'state'), signal);
      return await differencesOf(test.expect, outcome, folder, (column) => types.get(column) ?? 'text');
    } finally {
      await close();
    }
  } catch (failure) {
    if (signal?.aborted) throw stoppedBy(signal, 'the tests were stopped by their signal');
    if (!(failure instanceof LeadstreamError)) throw failure;
    return [{ at: 'setup', expected: 'a test that can run', received: `${failure.code}: ${failure.message}` }];
  } finally {
    await rm(base, { recursive: true, force: true });
  }
}

async function outcomeOf(
  { pipeline, rows }: TestedPipeline,
  { now }: PipelineTest,
  stateDir: string,
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  const { failedRunOf, runPipeline } = await import('../run/index.js');
  const stdout = new PassThrough();
  const printed = text(stdout);
  const options = { stateDir, stdout, ...defined({ signal, now: now === undefined ? undefined : new Date(now) }) };
  const ended = await runPipeline(pipeline, options).then(
    (report) => ({ report, failure: undefined }),
    (thrown: unknown) => ({ report: failedRunOf(thrown), failure: failureOf(thrown) }),
  );
  stdout.end();
  if (signal?.aborted) throw ended.failure;
  return { ...ended, rows: rows(), stdout: await printed };
}
