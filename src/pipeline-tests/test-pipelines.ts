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
  /** Folder that the path of the pipeline file resolves against. Default: the working directory. */
  readonly cwd?: string;
  /** Names of pipelines or of tests to run. Default: all. */
  readonly only?: readonly string[];
  /** Called with each result as its test ends, and waited for. Default: nobody. */
  readonly onResult?: (result: TestResult) => Promise<void> | void;
  /** Stops the tests. */
  readonly signal?: AbortSignal;
}

// What files are loaded with, the loader checks.
const taken = object({ only: texts(), onResult: callable, signal: abortSignal }, [], 'open');

/** What a test came to. */
export interface TestResult {
  readonly pipeline: string;
  readonly name: string;
  /** Where it stands in the file, from 1. */
  readonly line: number;
  readonly ok: boolean;
  /** All that was not as expected; `setup` where the test could not run. */
  readonly differences: readonly Difference[];
}

/** What the tests of a file came to. */
export interface TestResults {
  /** Whether all of them are as expected; without tests, too. */
  readonly ok: boolean;
  readonly tests: readonly TestResult[];
  /** Pipelines without tests. */
  readonly untested: readonly string[];
  /** Tests that `only` left out. */
  readonly skipped: readonly Pick<TestResult, 'pipeline' | 'name'>[];
  /** What is right in the tests and probably not meant, like a field of `given` that is nearly one of its collection. */
  readonly warnings: readonly Finding[];
}

/** The key that the service of a test takes. It opens nothing else. */
const madeUpKey = 'made-up-key-of-a-test';

/**
 * Runs the tests that stand in a pipeline file, one after the other: each runs its whole pipeline in a temporary folder, against a service
 * of its own with the rows that are given, and compares rows, files, books and exit code. Neither the environment nor any other service is
 * asked for anything. Backoff and waits are shortened, an answer is waited for at most 1 s unless a test sets `service.timeout`, and `rate_limit` does not count.
 *
 * @throws {LeadstreamError} `E_USAGE` for arguments that cannot be right.
 * @throws {SpecError} With every problem of the file, its tests included.
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
