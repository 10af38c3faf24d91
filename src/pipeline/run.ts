import { randomBytes } from 'node:crypto';
import { tap, type Observable } from 'rxjs';
import { createClient, discoveredColumns, type CollectionReader, type Findings, type RetryNotice } from '../client/index.js';
import type { Column, Row } from '../collections/index.js';
import { GateError, LeadstreamError, reasonOf } from '../errors.js';
import { deliver, emptyTally, type Page, type Tally } from '../flow/index.js';
import { booksOf, checkBooks, sumTallies } from './books.js';
import { pagesOf } from './connect.js';
import { openOutputs, type Output } from './outputs.js';
import type { Pipeline } from './pipeline.js';
import type { PlannedStep } from './plan.js';
import { openRejects } from './rejects.js';
import type { FindingsReport, RunReport } from './report.js';

/** How far a run is. */
export interface Progress {
  readonly pages: number;
  /** Rows read. */
  readonly rows: number;
}

/** What a run takes from its surroundings. */
export interface RunOptions {
  /** Stops the run; nothing is published. */
  readonly signal?: AbortSignal;
  /** Where the `stdout` sink writes. Default `process.stdout`. */
  readonly stdout?: NodeJS.WritableStream;
  /** Told after every page. */
  readonly onProgress?: (progress: Progress) => void;
  /** Told of every attempt that failed and will be repeated. */
  readonly onRetry?: (notice: RetryNotice) => void;
}

/**
 * Runs a pipeline: reads the whole collection through its steps into all sinks, checks books and gates, and publishes.
 * Until then nothing stands under a final name; after a failure everything is as it was.
 *
 * @returns What was done. It resolves only after publishing.
 * @throws {LeadstreamError} When nothing was published: `SourceError`, `StepError`, `SinkError`, `GateError`, or
 * `E_RUN_ABORTED` after `signal`.
 */
export async function runPipeline(pipeline: Pipeline, options: RunOptions = {}): Promise<RunReport> {
  const { plan, connection } = pipeline;
  const startedAt = new Date().toISOString();
  const runId = `${startedAt.slice(0, 19).replaceAll(/[-:]/g, '')}Z-${randomBytes(4).toString('hex')}`;
  const rejects = await openRejects(pipeline.rejects, plan.collection, runId);
  const client = createClient({ ...connection, onRetry: options.onRetry });
  const reader = client.reader(plan.collection.name, pipeline.reveal);
  const source = observeSource(reader, pipeline.reveal);
  const steps = plan.steps.map((step) => ({ step, tally: emptyTally() }));
  let published = false;

  try {
    const outputs = await openOutputs(plan.sinks, {
      baseDir: pipeline.baseDir,
      onError: pipeline.onError,
      stdout: options.stdout ?? process.stdout,
      runId,
      columns: () => plan.columns(source.discovered()),
      reject: rejects.add,
    });
    try {
      const source$: Observable<Page> = pagesOf(reader, connection).pipe(tap(source.observe));
      const chain$ = steps.reduce((pages$, { step, tally }) => pages$.pipe(openStep(step, tally)), source$);
      await completed(
        chain$.pipe(
          deliver(async (page) => {
            await outputs.write(page);
            await rejects.flush();
          }),
          tap(() => options.onProgress?.({ pages: source.pages, rows: source.rows })),
        ),
        options.signal,
      );
      const finished = await outputs.finish();
      const report = closeBooks(finished);
      judge(report);
      await outputs.publish({
        runId,
        pipeline: pipeline.name,
        fingerprint: pipeline.fingerprint,
        collection: plan.collection.name,
        pages: source.pages,
        startedAt,
        books: Object.fromEntries(report.sinks.map(({ at, books }) => [at, books])),
      });
      published = true;
      const warnings = await outputs.settle().then(
        () => [],
        (failure: unknown) => [`published, but not tidied up: ${reasonOf(failure)}`],
      );
      return { ...report, warnings, finishedAt: new Date().toISOString() };
    } finally {
      if (!published) await outputs.abort();
    }
  } finally {
    client.close();
    await rejects.close(published);
  }

  function openStep(step: PlannedStep, tally: Tally) {
    return step.open({
      at: step.at,
      tally,
      reject: (row, fault) => rejects.add(step.at, row, fault),
      collection: plan.collection,
      input: step.input,
      onError: pipeline.onError,
      hmacKey: pipeline.hmacKey,
      read: (collection, reveal) => pagesOf(client.reader(collection, reveal), connection),
    });
  }

  function closeBooks(finished: readonly Output[]): RunReport {
    const sum = sumTallies(steps.map(({ tally }) => tally));
    const sinks = finished.map(({ at, staged, rejected, nulled }) => ({
      at,
      path: staged.path,
      bytes: staged.bytes,
      nulled,
      books: booksOf(source.rows, sum, { written: staged.rows, rejected }),
    }));
    return {
      pipeline: pipeline.name,
      runId,
      collection: plan.collection.name,
      startedAt,
      finishedAt: startedAt,
      pages: source.pages,
      read: source.rows,
      sinks,
      steps: steps.map(({ step, tally }) => ({ at: step.at, tally })),
      findings: findingsOf(reader.findings, source.discovered()),
      warnings: [],
      rejects: { path: pipeline.rejects.path, rows: Math.max(0, ...sinks.map(({ books }) => books.rejected)) },
    };
  }

  /** @throws {GateError} When books do not balance or a gate refuses. */
  function judge(report: RunReport): void {
    for (const { at, books } of report.sinks) checkBooks(at, books);
    for (const { step, tally } of steps) {
      const refusal = step.gate(tally);
      if (refusal !== undefined) throw new GateError('E_GATE_MATCH', `${step.at}: ${refusal}`);
    }
    rejects.check(report.rejects.rows, report.read);
  }
}

/** Counts what is read, and remembers which unknown fields page 1 had: these become columns, later ones do not. */
function observeSource(reader: CollectionReader<Row>, reveal: readonly string[]) {
  let pages = 0;
  let rows = 0;
  let discovered: readonly Column[] | undefined;
  return {
    get pages() {
      return pages;
    },
    get rows() {
      return rows;
    },
    discovered: () => discovered ?? [],
    observe: (page: Page) => {
      pages += 1;
      rows += page.rows.length;
      discovered ??= discoveredColumns(reader.findings, reveal).filter(({ name }) => page.rows.some((row) => name in row));
    },
  };
}

function findingsOf(findings: Findings, discovered: readonly Column[]): FindingsReport {
  const unknown = [...findings.unknown].map(([field, { rows }]) => [field, rows] as const);
  const late = [...findings.unknown].filter(
    ([, { column }]) => column.sensitivity !== 'secret' && !discovered.some(({ name }) => name === column.name),
  );
  return {
    unknown: Object.fromEntries(unknown),
    late: late.map(([field]) => field),
    missing: Object.fromEntries(findings.missing),
    notText: Object.fromEntries(findings.notText),
  };
}

/** Waits for the end of a stream; a signal ends it at once. */
function completed(stream$: Observable<unknown>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const subscription = stream$.subscribe({ error: reject, complete: resolve });
    const stop = () => {
      subscription.unsubscribe();
      reject(new LeadstreamError('E_RUN_ABORTED', 'the run was stopped; nothing was published'));
    };
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}
