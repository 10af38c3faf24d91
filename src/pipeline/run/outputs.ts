import { reasonOf, type Column, type Row, type OutputColumn } from '../../core/index.js';
import { reworded, type Action } from '../../store/index.js';
import type { Events } from '../../events/index.js';
import { countOf, namingRow, type Fault, type Page } from '../../flow/index.js';
import type { Published, RunFacts } from '../../lake/index.js';
import type { PreparedOutput, SinkContext, SinkWriter } from '../../sinks/index.js';
import type { PlannedSink } from '../spec/planned.js';

/** One sink at the end of a run, before the commit. */
export interface Output {
  readonly at: string;
  readonly prepared: PreparedOutput;
  /** What later runs know it by: its path, as far as it is known before a run, or its place where it has none; `undefined` for stdout. */
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

export interface OutputsOptions extends Omit<SinkContext, 'at' | 'reject' | 'nulled'> {
  /** The columns of the rows; asked for once, with the first page or at the end, with what stands at the outputs. */
  columns(earlier: readonly (Published | undefined)[]): readonly Column[];
  reject(at: string, columns: readonly Column[], row: Row, fault: Fault): void;
  readonly events: Events;
}

/** All sinks of a run as one; their columns are not known yet. */
export class OpenedOutputs {
  #begun: Promise<BegunOutputs> | undefined;

  private constructor(
    private readonly sinks: readonly OpenedOutput[],
    private readonly options: OutputsOptions,
  ) {}

  /**
   * Reserves every output, so that one that cannot be written is told before the first request.
   *
   * @throws {SinkError} When one cannot be reserved; the others are given back.
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

  /** What stands at the outputs, in their order. */
  get earlier(): readonly (Published | undefined)[] {
    return this.sinks.map(({ earlier }) => earlier);
  }

  /** Fixes the columns, by the first call. */
  begin(): Promise<BegunOutputs> {
    this.#begun ??= this.#begin();
    return this.#begun;
  }

  /** Removes whatever was not committed or put into quarantine. */
  async abort(): Promise<void> {
    await each(this.sinks, (sink) => sink.abort());
  }

  async #begin(): Promise<BegunOutputs> {
    const columns = this.options.columns(this.earlier);
    await each(this.sinks, (sink) => sink.begin(columns));
    return new BegunOutputs(this.sinks);
  }
}

/** All sinks of a run, which take rows. */
export class BegunOutputs {
  constructor(private readonly sinks: readonly OpenedOutput[]) {}

  /** Hands a page to every sink; the slowest sets the pace. */
  async write(page: Page): Promise<void> {
    await each(this.sinks, (sink) => sink.write(page));
  }

  /** Closes, syncs and verifies every sink. */
  async prepare(): Promise<PreparedOutputs> {
    return new PreparedOutputs(await each(this.sinks, async (sink) => ({ sink, output: await sink.prepare() })));
  }
}

/** All sinks of a run, which wait for the commit. */
export class PreparedOutputs {
  constructor(private readonly sinks: readonly { readonly sink: OpenedOutput; readonly output: Output }[]) {}

  get outputs(): readonly Output[] {
    return this.sinks.map(({ output }) => output);
  }

  /** Rows that the outputs will hold, by what later runs know them by. */
  get totals(): ReadonlyMap<string, number> {
    return new Map(this.outputs.flatMap(({ output, prepared }) => (output === undefined ? [] : [[output, prepared.total] as const])));
  }

  /** Writes what describes the outputs. @returns What commits all of them, in order. */
  async actions(facts: RunFacts): Promise<readonly Action[]> {
    return (await each(this.outputs, ({ prepared }) => prepared.actions(facts))).flat();
  }

  /**
   * Publishes what no action commits, one after the other.
   *
   * @returns The names of those that did.
   * @throws {SinkError} Of the first that fails, which says what had been published by then.
   */
  async commit(partial: boolean): Promise<readonly string[]> {
    const done: string[] = [];
    for (const { sink, output } of this.sinks) {
      const committed = await sink.commit(output.prepared, partial).catch((failure: unknown) => {
        throw published(failure, done);
      });
      if (committed) done.push(output.at);
    }
    return done;
  }

  /** Removes what the commit made superfluous. Everything is published, so a failure is only a nuisance. */
  async cleanup(): Promise<void> {
    await each(this.outputs, ({ prepared }) => prepared.cleanup());
  }

  /**
   * Instead of a commit: puts the outputs aside for inspection. `abort` leaves these alone.
   *
   * @param failed Called with an output that could not be put aside; the others are.
   * @returns Where they are.
   */
  async quarantine(failed: (failure: unknown) => void): Promise<readonly string[]> {
    const paths = await each(this.sinks, ({ sink, output }) => sink.quarantine(output.prepared).catch(failed));
    return paths.flatMap((path) => path ?? []);
  }
}

/** The same failure, which says what was published before it and cannot be taken back. */
export function published(failure: unknown, names: readonly string[]): unknown {
  if (names.length === 0) return failure;
  const what = `${names.join(', ')} had published by then, and will get all rows again`;
  return reworded(failure, `${reasonOf(failure)}; ${what}`);
}

/** What a sink counts of the rows that it is given. */
interface SinkCounts {
  /** The columns of the collection that identify a row. */
  readonly key: readonly string[];
  /** The columns of the rows, once they are fixed. */
  columns: readonly Column[];
  rejected: number;
  nulled: number;
}

/** One sink of a run. */
class OpenedOutput {
  #quarantined = false;

  private constructor(
    private readonly sink: PlannedSink,
    private readonly writer: SinkWriter,
    private readonly counts: SinkCounts,
    private readonly events: Events,
  ) {}

  static async open(sink: PlannedSink, options: OutputsOptions): Promise<OpenedOutput> {
    const counts: SinkCounts = { key: options.key, columns: [], rejected: 0, nulled: 0 };
    const { columns: _, reject, events, ...context } = options;
    const writer = await sink.open({
      ...context,
      reject: (row, fault) => {
        counts.rejected += 1;
        reject(sink.at, counts.columns, row, fault);
      },
      nulled: () => {
        counts.nulled += 1;
      },
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
    const { at, output, prints, writes } = this.sink;
    const prepared = await this.events.during(
      'finish',
      () => ({ at }),
      () => this.writer.prepare(),
      ({ rows, bytes }) => ({ rows, bytes }),
    );
    const { rejected, nulled } = this.counts;
    return { at, output: output ?? (prints ? undefined : at), prepared, earlier: this.earlier, writes, rejected, nulled };
  }

  /** @returns Whether it published something. */
  async commit(prepared: PreparedOutput, partial: boolean): Promise<boolean> {
    await prepared.commit?.(partial);
    return prepared.commit !== undefined;
  }

  /** @returns Where it is; `undefined` when there is nothing to look at. */
  async quarantine(prepared: PreparedOutput): Promise<string | undefined> {
    const path = await prepared.quarantine();
    this.#quarantined = path !== undefined;
    return path;
  }

  async abort(): Promise<void> {
    if (!this.#quarantined) await this.writer.abort();
  }
}

/** Does the same with all, and waits for all even if one fails: nobody writes on behind the back of a failure. */
async function each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results = await Promise.allSettled(items.map(work));
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}
