import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { LeadstreamError } from '../core/index.js';
import { abortSignal, callable, checkUsage, object, texts } from '../options/index.js';
import type { Extensions, Finding, PipelineTest, TestedPipeline } from '../pipeline/index.js';
import type { Difference } from './compare.js';
import { refuseStopped } from './stopped.js';

/** How tests are run. */
export interface TestOptions extends Extensions {
  /** Folder that the path of the pipeline file is resolved against. Default: the working directory. */
  readonly cwd?: string;
  /** Names of pipelines or of tests to run. Default: all. */
  readonly only?: readonly string[];
  /** Called with each result as its test ends, and awaited. Default: not called. */
  readonly onResult?: (result: TestResult) => Promise<void> | void;
  /** Stops the tests. */
  readonly signal?: AbortSignal;
}

// The loader checks the options for loading files.
const taken = object({ only: texts(), onResult: callable, signal: abortSignal }, [], 'open');

/** The result of a test. */
export interface TestResult {
  readonly pipeline: string;
  readonly name: string;
  /** Line of the test in the file, from 1. */
  readonly line: number;
  readonly ok: boolean;
  /** Everything that was not as expected; `setup` if the test could not run. */
  readonly differences: readonly Difference[];
}

/** The results of the tests of a file. */
export interface TestResults {
  /** Whether all of them passed; also true without tests. */
  readonly ok: boolean;
  readonly tests: readonly TestResult[];
  /** Pipelines without tests. */
  readonly untested: readonly string[];
  /** Tests left out by `only`. */
  readonly skipped: readonly Pick<TestResult, 'pipeline' | 'name'>[];
  /** Parts of the tests that are valid but probably not intended, such as a field of `given` that is nearly one of its collection. */
  readonly warnings: readonly Finding[];
}

/** The key accepted by the service of a test. It opens nothing else. */
const madeUpKey = 'made-up-key-of-a-test';

/**
 * Runs the tests in a pipeline file, one after another. Each runs its whole pipeline in a temporary folder, against its own service with the given
 * rows, and compares rows, files, row counts and exit code. Neither the environment nor any other service is used. Backoff and waits are shortened,
 * an answer may take at most 1 s unless a test sets `service.timeout`, and `rate_limit` is ignored.
 *
 * @throws {LeadstreamError} `E_USAGE` for invalid arguments.
 * @throws {SpecError} With every problem of the file, including its tests.
 *
 * @example
 * const { ok, tests } = await testPipelines('pipelines/leads-enriched.yaml');
 * // tests: [{ pipeline: 'leads-enriched', name: 'takes the main area code', ok: true, … }]
 */
export async function testPipelines(file: string, options: TestOptions = {}): Promise<TestResults> {
  checkUsage('testPipelines', taken, options);
  const { cwd = process.cwd(), only = [], signal, onResult, ...own } = options;
  const { loadTests } = await import('../pipeline/index.js');
  const pipelines = await loadTests(file, { cwd, ...own });
  const tests: TestResult[] = [];
  const skipped: Pick<TestResult, 'pipeline' | 'name'>[] = [];
  for (const pipeline of pipelines) {
    for (const test of pipeline.tests) {
      refuseStopped(signal);
      if (only.length > 0 && ![pipeline.name, test.name].some((name) => only.includes(name))) {
        skipped.push({ pipeline: pipeline.name, name: test.name });
        continue;
      }
      const differences = await differencesIn(pipeline, test, { base: dirname(resolve(cwd, file)), signal });
      const result = { pipeline: pipeline.name, name: test.name, line: test.line, ok: differences.length === 0, differences };
      tests.push(result);
      await onResult?.(result);
    }
  }
  const untested = pipelines.filter((pipeline) => pipeline.tests.length === 0).map(({ name }) => name);
  const warnings = pipelines.flatMap(({ doubts }) => doubts);
  return { ok: tests.every(({ ok }) => ok), tests, untested, skipped, warnings };
}

interface Surroundings {
  /** Folder of the pipeline file. */
  readonly base: string;
  readonly signal: AbortSignal | undefined;
}

async function differencesIn(pipeline: TestedPipeline, test: PipelineTest, around: Surroundings): Promise<readonly Difference[]> {
  const folder = await mkdtemp(join(tmpdir(), 'leadstream-test-'));
  try {
    return await compared(pipeline, test, { ...around, folder });
  } catch (failure) {
    refuseStopped(around.signal);
    if (!(failure instanceof LeadstreamError)) throw failure;
    return [{ at: 'setup', expected: 'a test that can run', received: `${failure.code}: ${failure.message}` }];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function compared(
  pipeline: TestedPipeline,
  test: PipelineTest,
  { base, folder, signal }: Surroundings & { readonly folder: string },
): Promise<readonly Difference[]> {
  const [{ startGiven }, { outcomeOf }, { differencesOf }] = await Promise.all([
    import('./given.js'),
    import('./outcome.js'),
    import('./compare.js'),
  ]);
  const [written, stateDir, rows] = ['work', 'state', 'given'].map((name) => join(folder, name)) as [string, string, string];
  await mkdir(written);
  const data = test.data === undefined ? undefined : resolve(base, test.data);
  const service = await startGiven({ test, own: pipeline.own, data, folder: rows, key: madeUpKey });
  try {
    const observed = await pipeline.open(test, { folder: written, service: { url: service.url, key: madeUpKey } });
    const types = new Map(observed.pipeline.plan.columns().map(({ name, type }) => [name, type]));
    const outcome = await outcomeOf(observed, test, { stateDir, signal });
    return await differencesOf(test.expect, outcome, { folder: written, typeOf: (column) => types.get(column) ?? 'text' });
  } finally {
    await service.close();
  }
}
