import { relative } from 'node:path';
import { tap } from 'rxjs';
import { itemAt, SpecError, textOf, type Row } from '../core/index.js';
import { isRemote } from '../store/index.js';
import { batchOf, countOf, type Page } from '../flow/index.js';
import { nothingToCommit, type SinkWriter } from '../sinks/index.js';
import { fileText, loadCheck, referenceSource } from '../plan/index.js';
import type { Checked, Extensions, Pipeline, PlannedSink } from '../plan/index.js';
import { extraStep } from './observed.js';

export type PipelineTest = Awaited<ReturnType<typeof loadTests>>[number];

export type TextRow = Readonly<Record<string, string | null>>;

export type TestedPipeline = ReturnType<typeof observed>;

/** What a test leaves out: the pipeline's account and webhooks. */
const without = [['service', 'base_url'], ['service', 'auth'], ['on_success'], ['on_failure']];

/** Time for a response, as the service is on this machine. */
const longestMs = 1_000;

/** Does not use the environment. @throws {SpecError} With all problems of the file and its tests. */
export async function loadTests(file: string, options: Extensions & { readonly cwd: string }) {
  const { cwd, ...own } = options;
  const text = await fileText(file, { cwd });
  const { checkDocuments, specErrorOf } = await loadCheck();
  const { pipelines, issues } = await checkDocuments(text, file, { ...own, env: {}, cwd }, { lenient: true });
  if (issues.length > 0) throw specErrorOf(file, issues);

  return pipelines.flatMap(({ name = '', plan, tests = [], document }, index) =>
    tests.map((test, place) => ({
      ...test,
      pipeline: name,
      line: document.locate(['tests', place, 'name']).line,
      declared: Object.values(plan?.collections ?? {}).filter(({ name: read, served }) => served && plan?.reads.includes(read)),
      /** `url` and `key` belong to the test's service. */
      open: async ({ folder, url, key }: Readonly<Record<'folder' | 'url' | 'key', string>>) => {
        const env = { LEADSTREAM_HMAC_KEY: key, ...test.env, LEADSTREAM_BASE_URL: url, LEADSTREAM_REST_API_KEY: key };
        // References to files resolve against the working directory; outputs go to the folder.
        const from = { ...referenceSource(env, cwd), baseDir: folder };
        const checked = await checkDocuments(text, file, { ...own, cwd, set: test.set ?? {} }, { from, without });
        const tested = itemAt(checked.pipelines, index);
        if (!tested.pipeline) throw specErrorOf(file, tested.issues.all);
        refuseOutside(folder, file, tested);
        return observed(testing(tested.pipeline));
      },
    })),
  );
}

function refuseOutside(folder: string, file: string, { outputs, document }: Checked): void {
  const outside = outputs.find(({ path }) => path !== undefined && (isRemote(path) || relative(folder, path).startsWith('..')));
  if (!outside) return;
  const message = `${outside.path} is outside the test's folder, where a test must write; give it another path, with set or env`;
  throw new SpecError('E_SPEC_INVALID', file, [{ message, ...document.locate(outside.place) }]);
}

/** Drops waiting times, other pipelines, and sinks that publish outside the file system. */
function testing(pipeline: Pipeline): Pipeline {
  const { ratePerSecond: _, timeoutMs = longestMs, retry, ...connection } = pipeline.connection;
  const inFolder = (sink: PlannedSink) =>
    sink.definition.prints || sink.output !== undefined ? sink : { ...sink, definition: { ...sink.definition, open: discard } };
  return {
    ...pipeline,
    connection: {
      ...connection,
      ...{ threads: 0, endWaitMs: 1, timeoutMs: Math.min(timeoutMs, longestMs), retry: { ...retry, baseMs: 1, capMs: 10 } },
    },
    plan: { ...pipeline.plan, sinks: pipeline.plan.sinks.map(inFolder) },
    together: undefined,
  };
}

function discard(): Promise<SinkWriter> {
  let rows = 0;
  return Promise.resolve({
    begin: () => Promise.resolve(),
    write: (page: Page) => Promise.resolve(void (rows += countOf(page))),
    prepare: () => Promise.resolve({ rows, bytes: 0, total: rows, unchanged: 0, changed: 0, ...nothingToCommit }),
    abort: () => Promise.resolve(),
  });
}

/** Records the rows that leave the last step in a run's last attempt. */
function observed(pipeline: Pipeline) {
  const { plan } = pipeline;
  let rows: Row[] = [];
  const last = extraStep('test', () => {
    rows = [];
    return tap((page) =>
      batchOf(page)
        .rows()
        .forEach((row) => rows.push(row)),
    );
  });
  const types = new Map(plan.columns().map(({ name, type }) => [name, type]));
  const textsOf = (row: Row): TextRow =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, textOf(value, types.get(name) ?? 'text')]));
  return {
    pipeline: { ...pipeline, plan: { ...plan, steps: [...plan.steps, last] } },
    rows: () => rows.map(textsOf),
  };
}
