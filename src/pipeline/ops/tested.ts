import { relative, resolve } from 'node:path';
import { tap } from 'rxjs';
import type { Collection } from '../../collections/index.js';
import { SpecError, textOf } from '../../core/index.js';
import { batchOf } from '../../flow/index.js';
import type { Checked } from '../spec/check.js';
import { credentialReferences } from '../spec/credentials.js';
import { fileText } from '../spec/file-text.js';
import type { Finding } from '../spec/lint.js';
import { checkLoading } from '../spec/load-options.js';
import type { Extensions } from '../spec/definitions.js';
import type { Pipeline } from '../spec/pipeline.js';
import { pathOf, referenceSource, type ReferenceSource } from '../spec/reference-source.js';
import type { PlannedSink } from '../spec/planned.js';
import type { TestShape } from '../spec/test-shape.js';
import { discarding, passThrough } from './observed.js';

/** A test of a pipeline, as in its file. */
export interface PipelineTest extends TestShape {
  /** Its line in the file, from 1. */
  readonly line: number;
}

/** A pipeline of a file with its tests. */
export interface TestedPipeline {
  readonly name: string;
  /** The collections defined by the file that it reads. */
  readonly own: readonly Collection[];
  readonly tests: readonly PipelineTest[];
  /** Doubts about its tests: valid, but probably unintended. */
  readonly doubts: readonly Finding[];
  /**
   * Returns the pipeline as a test runs it.
   *
   * @throws {SpecError} For errors that remain with `env` or `set` of the test, and for an output outside the folder of the test.
   */
  open(test: PipelineTest, place: TestPlace): Promise<ObservedPipeline>;
}

/** Where a test runs. */
export interface TestPlace {
  /** Folder that relative paths resolve against. */
  readonly folder: string;
  /** The service of the test, and the key that it accepts. */
  readonly service: { readonly url: string; readonly key: string };
}

/** A row as texts, as compared by a test. */
export type TextRow = Readonly<Record<string, string | null>>;

/** A pipeline whose rows are recorded as they leave the last step. */
export interface ObservedPipeline {
  readonly pipeline: Pipeline;
  /** Returns the rows of the last attempt of a run. */
  rows(): readonly TextRow[];
}

/**
 * Loads the tests of a pipeline file. Does not use the environment.
 *
 * @param options Folder that the path resolves against, and steps and sinks of a program.
 * @throws {LeadstreamError} `E_USAGE` for invalid arguments.
 * @throws {SpecError} With every problem of the file, including its tests.
 */
export async function loadTests(file: string, options: Extensions & { readonly cwd: string }): Promise<readonly TestedPipeline[]> {
  checkLoading('testPipelines', { file }, options);
  const { cwd, ...own } = options;
  const text = await fileText(file, { cwd });
  const { checkDocuments, failureOf } = await import('../spec/check-documents.js');
  const { pipelines, issues } = await checkDocuments(text, file, { ...own, env: {}, cwd }, { lenient: true, testFields: true });
  if (issues.length > 0) throw failureOf(file, issues);

  return pipelines.map(({ name = '', plan, tests = [], doubts, document }, index) => ({
    name,
    own: Object.values(plan?.collections ?? {}).filter(({ name: read, served }) => served !== undefined && plan?.reads.includes(read)),
    tests: tests.map((test, place) => ({ ...test, line: document.locate(['tests', place, 'name']).line })),
    doubts: doubts.filter(({ code }) => code === 'W_SPEC_GIVEN').map((doubt) => ({ severity: 'warning', ...doubt })),
    open: async (test, place) => {
      const options = { ...own, cwd, ...(test.set && { set: test.set }) };
      const sourceOf = (documents: readonly unknown[]) => madeUp(documents, test, place, cwd);
      const checked = await checkDocuments(text, file, options, { lenient: true, sourceOf });
      const [document] = checked.pipelines.slice(index);
      if (document === undefined || document.issues.length > 0) throw failureOf(file, document?.issues ?? checked.issues);
      const pipeline = soundIn(document, test, file);
      await refuseOtherFiles(document, test, place, file);
      return observed(testing(patient(pipeline, test), document, place, file), place);
    },
  }));
}

/** Returns the values of references in a test, with made-up credentials and service address. */
function madeUp(documents: readonly unknown[], { env = {} }: TestShape, { folder, service }: TestPlace, cwd: string): ReferenceSource {
  const files = referenceSource(env, cwd);
  const valueOf = (isHook: boolean) => (isHook ? `${service.url}/nobody` : service.key);
  const credentials = credentialReferences(documents);
  const variables = credentials.flatMap(({ kind, name, isHook }) => (kind === 'variable' ? [[name, valueOf(isHook)] as const] : []));
  const secretFiles = new Map(
    credentials.flatMap(({ kind, name, isHook }) => (kind === 'file' ? [[pathOf(name, files), valueOf(isHook)] as const] : [])),
  );
  const named = documents.flatMap(addressNames).map((name) => [name, service.url] as const);
  const account = { LEADSTREAM_BASE_URL: service.url, LEADSTREAM_REST_API_KEY: service.key, LEADSTREAM_HMAC_KEY: service.key };
  return {
    env: { ...account, ...Object.fromEntries(named), ...env, ...Object.fromEntries(variables) },
    baseDir: folder,
    read: (name) => secretFiles.get(resolve(cwd, name)) ?? files.read(name),
  };
}

/** Returns the variables in `service.base_url`. */
function addressNames(document: unknown): readonly string[] {
  const address = inside(inside(document, 'service'), 'base_url');
  return typeof address === 'string' ? [...address.matchAll(/\$\{([A-Za-z_]\w*)/g)].flatMap(([, name]) => name ?? []) : [];
}

function inside(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}

/** @throws {SpecError} `E_SPEC_REFERENCE`. */
function soundIn({ pipeline, unset, document }: Checked, { line }: PipelineTest, file: string): Pipeline {
  if (pipeline) return pipeline;
  const message = `a test has only its own environment: set ${unset.join(', ')} under env`;
  throw new SpecError('E_SPEC_REFERENCE', file, [{ message, line, column: document.locate(['tests']).column }]);
}

/** @throws {SpecError} `E_SPEC_INVALID` if the test expects a file that its run does not write. */
async function refuseOtherFiles(
  { document, name, outputs }: Checked,
  test: PipelineTest,
  { folder }: TestPlace,
  file: string,
): Promise<void> {
  const { wrongFiles } = await import('../spec/check-test-files.js');
  const [message] = wrongFiles(test, { name, outputs, baseDir: folder });
  if (message === undefined) return;
  throw new SpecError('E_SPEC_INVALID', file, [{ message, line: test.line, column: document.locate(['tests']).column }]);
}

/** Default for the maximum time that a test waits for a response; its service is on this machine. */
const longestMs = 1_000;

/** Returns the pipeline with the timeout set by the test, or a short one. */
function patient(pipeline: Pipeline, { set = {} }: PipelineTest): Pipeline {
  if (Object.hasOwn(set, 'service.timeout')) return pipeline;
  const { timeoutMs = longestMs } = pipeline.connection;
  return { ...pipeline, connection: { ...pipeline.connection, timeoutMs: Math.min(timeoutMs, longestMs) } };
}

/** Returns the pipeline set up for the service of a test, without waiting times. */
function testing(pipeline: Pipeline, { document, outputs }: Checked, { folder, service }: TestPlace, file: string): Pipeline {
  for (const { path, place } of outputs) {
    if (path === undefined || !relative(folder, path).startsWith('..')) continue;
    const message = `${path} is outside the folder of the test, and a test writes nowhere else; give the test another path, with set or env`;
    throw new SpecError('E_SPEC_INVALID', file, [{ message, ...document.locate(place) }]);
  }
  const { ratePerSecond: _, ...connection } = pipeline.connection;
  const retry = { ...connection.retry, baseMs: 1, capMs: 10 };
  return {
    ...pipeline,
    connection: { ...connection, baseUrl: service.url, auth: { rest_api_key: service.key }, proxy: false, threads: 0, endWaitMs: 1, retry },
    hooks: { success: undefined, failure: undefined },
    plan: { ...pipeline.plan, sinks: pipeline.plan.sinks.map(harmless) },
    secrets: [...pipeline.secrets, service.key],
  };
}

/** Replaces a sink that publishes outside the file system: a test writes only into its folder. */
function harmless(sink: PlannedSink): PlannedSink {
  return sink.prints || sink.output !== undefined ? sink : { ...sink, open: discarding().open };
}

/** Records the rows after the last step. A run that starts again records them again. */
function observed(pipeline: Pipeline, { folder }: TestPlace): ObservedPipeline {
  const { plan } = pipeline;
  const columns = plan.columns();
  const types = new Map(columns.map(({ name, type }) => [name, type]));
  let rows: TextRow[] = [];
  const watching = {
    ...passThrough('test'),
    open: () => {
      rows = [];
      return tap<Parameters<typeof batchOf>[0]>((page) => {
        const batch = batchOf(page);
        for (let index = 0; index < batch.length; index += 1) {
          const values = Object.entries(batch.row(index));
          rows.push(Object.fromEntries(values.map(([name, value]) => [name, textOf(value, types.get(name) ?? 'text')])));
        }
      });
    },
  };
  return { pipeline: { ...pipeline, baseDir: folder, plan: { ...plan, steps: [...plan.steps, watching] } }, rows: () => rows };
}
