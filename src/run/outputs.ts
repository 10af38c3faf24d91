import type { Column, Row } from '../core/index.js';
import type { Events } from '../events/index.js';
import { countOf, namingRow, type Fault, type Page, type KnownRows } from '../flow/index.js';
import type { Published, UndeclaredField } from '../lake/index.js';
import type { PreparedOutput, SinkContext, SinkWriter } from '../sinks/index.js';
import type { PlannedSink } from '../plan/index.js';
import type { Counts } from './counts.js';
import { each } from './publish.js';

/** A sink at the end of a run, before the commit. */
export type Output = Awaited<ReturnType<Outputs['prepare']>>[number];

interface OutputsOptions extends Omit<SinkContext, 'at' | 'reject' | 'nulled'> {
  /** Called once, with the first page or at the end. */
  columns(): readonly Column[];
  reject(at: string, columns: readonly Column[], row: Row, fault: Fault): void;
  readonly events: Events;
}

export class Outputs {
  #begun: Promise<unknown> | undefined;

  private constructor(
    private readonly opened: readonly Opened[],
    private readonly options: OutputsOptions,
  ) {}

  /** Reserves every output, so that an unwritable one is reported before the first request. */
  static async open(sinks: readonly PlannedSink[], options: OutputsOptions): Promise<Outputs> {
    const opened: Opened[] = [];
    const outputs = new Outputs(opened, options);
    try {
      for (const sink of sinks) opened.push(await open(sink, options));
    } catch (failure) {
      await outputs.abort();
      throw failure;
    }
    return outputs;
  }

  get earlier(): readonly (Published | undefined)[] {
    return this.opened.map(({ writer }) => writer.earlier);
  }

  /** The undeclared fields of the last run: by the manifests, and by the counts where there is none. */
  undeclared(counts: Counts | undefined): readonly UndeclaredField[] {
    return this.opened.flatMap(({ sink, writer }) => (writer.earlier ?? counts?.ofOutput(sink.output ?? sink.at))?.undeclared ?? []);
  }

  /** Starts the outputs. The first call fixes the columns. */
  async begin(): Promise<void> {
    this.#begun ??= this.#begin();
    await this.#begun;
  }

  /** Passes a page to every sink; the slowest determines the pace. */
  async write(page: Page): Promise<void> {
    await this.begin();
    const { key, events } = this.options;
    await each(this.opened, ({ sink, writer, counts: { columns } }) => writePage(writer, page, sink.at, { key, columns }, events));
  }

  async prepare() {
    return each(this.opened, async ({ sink, writer, counts: { rejected, nulled } }) => {
      const { at, definition } = sink;
      const prepared = await prepareSink(writer, at, this.options.events);
      // Identifies it for later runs: its path with placeholders, or its place; `undefined` for stdout.
      const output = sink.output ?? (definition.prints ? undefined : at);
      return { at, sink, prepared, output, earlier: writer.earlier, rejected, nulled };
    });
  }

  async abort(): Promise<void> {
    await each(this.opened, ({ writer }) => writer.abort());
  }

  async #begin(): Promise<void> {
    const columns = this.options.columns();
    await each(this.opened, ({ writer, counts }) => {
      counts.columns = columns;
      return writer.begin(columns);
    });
  }
}

type Opened = Awaited<ReturnType<typeof open>>;

async function open(sink: PlannedSink, options: OutputsOptions) {
  const { columns: _, reject, events: _events, ...context } = options;
  /** Rows that the sink could not write, and values that became `null` under `on_error: null`. */
  const counts = { columns: [] as readonly Column[], rejected: 0, nulled: 0 };
  const writer = await sink.definition.open(sink.config, {
    ...context,
    at: sink.at,
    reject: (row, fault) => {
      counts.rejected += 1;
      reject(sink.at, counts.columns, row, fault);
    },
    nulled: () => void (counts.nulled += 1),
  });
  return { sink, writer, counts };
}

/** Writes a page to a sink, as an event. A failure names the row. */
export function writePage(writer: SinkWriter, page: Page, at: string, rows: KnownRows, events: Events): Promise<void> {
  return events.during(
    'write',
    () => ({ at, number: page.number, rows: countOf(page) }),
    () =>
      writer.write(page).catch((failure: unknown) => {
        throw namingRow(failure, () => rows);
      }),
  );
}

export function prepareSink(writer: SinkWriter, at: string, events: Events): Promise<PreparedOutput> {
  return events.during(
    'finish',
    () => ({ at }),
    () => writer.prepare(),
    ({ rows, bytes }) => ({ rows, bytes }),
  );
}
