import type { Column, Row, OutputColumn } from '../../core/index.js';
import type { Move } from '../../store/index.js';
import type { Events } from '../../events/index.js';
import { countOf, type Fault, type Page } from '../../flow/index.js';
import type { Published, RunFacts } from '../../lake/index.js';
import type { SinkContext, SinkWriter, Staged } from '../../sinks/index.js';
import type { PlannedSink } from '../spec/plan.js';

/** One sink at the end of a run, before publication. */
export interface Output {
  readonly at: string;
  readonly staged: Staged;
  /** Its path, as far as it is known before a run; none for stdout. */
  readonly output: string | undefined;
  /** What stood there before. */
  readonly earlier: Published | undefined;
  /** The columns that it writes when these leave the last step. */
  writes(columns: readonly Column[]): readonly OutputColumn[];
  /** Rows that this sink could not take. */
  readonly rejected: number;
  /** Values that became `null` under `on_error: null`. */
  readonly nulled: number;
}

/** All sinks of a run as one. */
export interface Outputs {
  /** Hands a page to every sink; the slowest sets the pace. The first call fixes the columns. */
  write(page: Page): Promise<void>;
  /** Closes, syncs and verifies every sink. */
  finish(): Promise<readonly Output[]>;
  /** Prepares the publication of every sink. @returns All renames, in order. */
  publication(facts: RunFacts): Promise<readonly Move[]>;
  /** Removes what the publication made superfluous. Everything is published, so a failure is only a nuisance. */
  settle(): Promise<void>;
  /**
   * Instead of a publication: puts the outputs that are finished aside for inspection. `abort` leaves these alone.
   *
   * @param failed Description of an output that could not be put aside; the others are.
   * @returns Where they are.
   */
  setAside(failed: (failure: unknown) => void): Promise<readonly string[]>;
  /** Removes whatever was not published or put aside. */
  abort(): Promise<void>;
  /** What stands at the outputs, in their order. */
  readonly earlier: readonly (Published | undefined)[];
}

export interface OutputsOptions extends Omit<SinkContext, 'at' | 'reject' | 'nulled'> {
  /** The columns of the rows; asked for once, with the first page or at the end, with what stands at the outputs. */
  columns(earlier: readonly (Published | undefined)[]): readonly Column[];
  reject(at: string, columns: readonly Column[], row: Row, fault: Fault): void;
  readonly events: Events;
}

/**
 * Reserves every output, so that one that cannot be written is told before the first request.
 *
 * @throws {SinkError} When one cannot be reserved; the others are given back.
 */
export async function openOutputs(sinks: readonly PlannedSink[], options: OutputsOptions): Promise<Outputs> {
  const opened: Opened[] = [];
  const aside = new Set<string>();
  let columns: readonly Column[] | undefined;
  let finished: readonly Output[] = [];

  function earlier(): readonly (Published | undefined)[] {
    return opened.map(({ writer }) => writer.earlier);
  }

  async function begin(): Promise<void> {
    if (columns) return;
    const fixed = options.columns(earlier());
    columns = fixed;
    await each(opened, ({ writer }) => writer.begin(fixed));
  }

  async function abort(): Promise<void> {
    await each(opened, async (output) => {
      if (!aside.has(output.at)) await output.writer.abort();
    });
  }

  try {
    for (const sink of sinks) opened.push(await openSink(sink, options, () => columns ?? []));
  } catch (failure) {
    await abort();
    throw failure;
  }

  return {
    earlier: earlier(),
    write: async (page) => {
      await begin();
      await each(opened, ({ at, writer }) =>
        options.events.during(
          'write',
          () => ({ at, number: page.number, rows: countOf(page) }),
          () => writer.write(page),
        ),
      );
    },
    finish: async () => {
      await begin();
      finished = await each(opened, async ({ at, output, writer, writes, counts }) => {
        const staged = await options.events.during(
          'finish',
          () => ({ at }),
          () => writer.finish(),
          ({ rows, bytes }) => ({ rows, bytes }),
        );
        return { at, output, staged, earlier: writer.earlier, writes, ...counts };
      });
      return finished;
    },
    publication: async (facts) => (await each(finished, ({ staged }) => staged.publication(facts))).flat(),
    settle: async () => {
      await each(finished, ({ staged }) => staged.settle());
    },
    setAside: async (failed) => {
      const kept = await each(finished, async ({ at, staged }) => {
        const path = await staged.setAside().catch(failed);
        if (typeof path !== 'string') return [];
        aside.add(at);
        return path;
      });
      return kept.flat();
    },
    abort,
  };
}

interface Opened {
  readonly at: string;
  readonly output: string | undefined;
  readonly writer: SinkWriter;
  readonly writes: PlannedSink['writes'];
  readonly counts: { rejected: number; nulled: number };
}

async function openSink(sink: PlannedSink, options: OutputsOptions, columns: () => readonly Column[]): Promise<Opened> {
  const counts = { rejected: 0, nulled: 0 };
  const writer = await sink.open({
    baseDir: options.baseDir,
    onError: options.onError,
    stdout: options.stdout,
    pipeline: options.pipeline,
    runId: options.runId,
    key: options.key,
    runDate: options.runDate,
    runLog: options.runLog,
    warn: options.warn,
    reject: (row, fault) => {
      counts.rejected += 1;
      options.reject(sink.at, columns(), row, fault);
    },
    nulled: () => {
      counts.nulled += 1;
    },
  });
  return { at: sink.at, output: sink.output, writer, writes: sink.writes, counts };
}

/** Does the same with all, and waits for all even if one fails: nobody writes on behind the back of a failure. */
async function each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results = await Promise.allSettled(items.map(work));
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}
