import { reasonOf, type Column, type Row } from '../core/index.js';
import { reworded, type Action } from '../store/index.js';
import type { Events } from '../events/index.js';
import { countOf, namingRow, type Fault, type Page } from '../flow/index.js';
import type { Published, RunFacts } from '../lake/index.js';
import type { PreparedOutput, SinkContext, SinkWriter } from '../sinks/index.js';
import type { PlannedSink } from '../plan/index.js';

/** A sink at the end of a run, before the commit. */
export interface Output {
  readonly at: string;
  readonly sink: PlannedSink;
  readonly prepared: PreparedOutput;
  /**
   * Identifies the output for later runs: its path, with placeholders for what is unknown before a run, or the
   * place of the sink if it has no path; `undefined` for stdout.
   */
  readonly output: string | undefined;
  /** What was there before. */
  readonly earlier: Published | undefined;
  /** Rows that this sink could not write. */
  readonly rejected: number;
  /** Values that became `null` under `on_error: null`. */
  readonly nulled: number;
}

interface OutputsOptions extends Omit<SinkContext, 'at' | 'reject' | 'nulled'> {
  /** Returns the columns of the rows; called once, with the first page or at the end, with what is at the outputs. */
  columns(earlier: readonly (Published | undefined)[]): readonly Column[];
  reject(at: string, columns: readonly Column[], row: Row, fault: Fault): void;
  readonly events: Events;
}

/** All sinks of a run as one, before their columns are known. */
export class OpenedOutputs {
  #begun: Promise<BegunOutputs> | undefined;

  private constructor(
    private readonly sinks: readonly OpenedOutput[],
    private readonly options: OutputsOptions,
  ) {}

  /**
   * Reserves every output, so that an unwritable one is reported before the first request.
   *
   * @throws {SinkError} If one cannot be reserved; the others are released.
   */
  static async open(sinks: readonly PlannedSink[], options: OutputsOptions): Promise<OpenedOutputs> {
    const opened: OpenedOutput[] = [];
    const outputs = new OpenedOutputs(opened, options);
    try {
      for (const sink of sinks) opened.push(await OpenedOutput.open(sink, options));
    } catch (failure) {
      await outputs.abort();
      throw failure;
    }
    return outputs;
  }

  /** What is at the outputs, in order. */
  get earlier(): readonly (Published | undefined)[] {
    return this.sinks.map(({ earlier }) => earlier);
  }

  /** Starts the outputs. The first call fixes the columns. */
  begin(): Promise<BegunOutputs> {
    this.#begun ??= this.#begin();
    return this.#begun;
  }

  /** Removes everything that was not committed. */
  async abort(): Promise<void> {
    await each(this.sinks, (sink) => sink.abort());
  }

  async #begin(): Promise<BegunOutputs> {
    const columns = this.options.columns(this.earlier);
    await each(this.sinks, (sink) => sink.begin(columns));
    return new BegunOutputs(this.sinks);
  }
}

/** All sinks of a run, ready for rows. */
class BegunOutputs {
  constructor(private readonly sinks: readonly OpenedOutput[]) {}

  /** Passes a page to every sink; the slowest determines the pace. */
  async write(page: Page): Promise<void> {
    await each(this.sinks, (sink) => sink.write(page));
  }

  /** Closes, syncs and verifies every sink. */
  async prepare(): Promise<PreparedOutputs> {
    return new PreparedOutputs(await each(this.sinks, async (sink) => ({ sink, output: await sink.prepare() })));
  }
}

/** All sinks of a run, waiting for the commit. */
export class PreparedOutputs {
  constructor(private readonly sinks: readonly { readonly sink: OpenedOutput; readonly output: Output }[]) {}

  get outputs(): readonly Output[] {
    return this.sinks.map(({ output }) => output);
  }

  /** Rows that the outputs will contain, by what identifies them for later runs. */
  get totals(): ReadonlyMap<string, number> {
    return new Map(this.outputs.flatMap(({ output, prepared }) => (output === undefined ? [] : [[output, prepared.total] as const])));
  }

  /** Writes the descriptions of the outputs. @returns The actions that commit all of them, in order. */
  async actions(facts: RunFacts): Promise<readonly Action[]> {
    return (await each(this.outputs, ({ prepared }) => prepared.actions(facts))).flat();
  }

  /**
   * Publishes outputs that no action commits, one after another.
   *
   * @returns The names of the sinks that published.
   * @throws {SinkError} From the first that fails, including what had been published by then.
   */
  async commit(partial: boolean): Promise<readonly string[]> {
    const done: string[] = [];
    for (const { at, prepared } of this.outputs) {
      if (!prepared.commit) continue;
      await prepared.commit(partial).catch((failure: unknown) => {
        throw published(failure, done);
      });
      done.push(at);
    }
    return done;
  }

  /** Removes what the commit made obsolete. Everything is already published, so a failure is only a warning. */
  async cleanup(): Promise<void> {
    await each(this.outputs, ({ prepared }) => prepared.cleanup());
  }
}

/** Adds to a failure what had been published before and cannot be undone. */
export function published(failure: unknown, names: readonly string[]): unknown {
  if (names.length === 0) return failure;
  return reworded(failure, `${reasonOf(failure)}; ${names.join(', ')} had already published, and will receive all rows again`);
}

/** The counts of a sink. */
interface SinkCounts {
  /** The columns of the collection that identify a row. */
  readonly key: readonly string[];
  /** The columns of the rows, once they are fixed. */
  columns: readonly Column[];
  rejected: number;
  nulled: number;
}

/** A sink of a run. */
class OpenedOutput {
  private constructor(
    private readonly sink: PlannedSink,
    private readonly writer: SinkWriter,
    private readonly counts: SinkCounts,
    private readonly events: Events,
  ) {}

  static async open(sink: PlannedSink, options: OutputsOptions): Promise<OpenedOutput> {
    const counts: SinkCounts = { key: options.key, columns: [], rejected: 0, nulled: 0 };
    const { columns: _, reject, events, ...context } = options;
    const writer = await sink.definition.open(sink.config, {
      ...context,
      at: sink.at,
      reject: (row, fault) => {
        counts.rejected += 1;
        reject(sink.at, counts.columns, row, fault);
      },
      nulled: () => void (counts.nulled += 1),
    });
    return new OpenedOutput(sink, writer, counts, events);
  }

  get earlier(): Published | undefined {
    return this.writer.earlier;
  }

  begin(columns: readonly Column[]): Promise<void> {
    this.counts.columns = columns;
    return this.writer.begin(columns);
  }

  write(page: Page): Promise<void> {
    return this.events.during(
      'write',
      () => ({ at: this.sink.at, number: page.number, rows: countOf(page) }),
      () =>
        this.writer.write(page).catch((failure: unknown) => {
          throw namingRow(failure, () => this.counts);
        }),
    );
  }

  async prepare(): Promise<Output> {
    const { at, output, definition } = this.sink;
    const prepared = await this.events.during(
      'finish',
      () => ({ at }),
      () => this.writer.prepare(),
      ({ rows, bytes }) => ({ rows, bytes }),
    );
    const { rejected, nulled } = this.counts;
    return {
      at,
      sink: this.sink,
      output: output ?? (definition.prints ? undefined : at),
      prepared,
      earlier: this.earlier,
      rejected,
      nulled,
    };
  }

  abort(): Promise<void> {
    return this.writer.abort();
  }
}

/** Does the same for all items, and waits for all even if one fails, so that nothing keeps writing after a failure. */
async function each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results = await Promise.allSettled(items.map(work));
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}
