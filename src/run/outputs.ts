import type { Column, Row } from '../core/index.js';
import type { Events } from '../events/index.js';
import { countOf, namingRow, type Fault, type KnownRows, type Page } from '../flow/index.js';
import type { PlannedSink } from '../plan/index.js';
import type { SinkContext, SinkWriter } from '../sinks/index.js';
import { each } from './publish.js';

interface OutputsOptions extends Pick<KnownRows, 'key'> {
  /** Called once, with the first page or at the end. */
  columns(): readonly Column[];
  readonly events: Events;
}

export class Outputs<O extends { readonly at: string; readonly writer: SinkWriter }> {
  #columns: readonly Column[] = [];
  #begun: Promise<unknown> | undefined;

  constructor(
    readonly opened: readonly O[],
    private readonly options: OutputsOptions,
  ) {}

  get columns(): readonly Column[] {
    return this.#columns;
  }

  /** Starts the outputs. The first call fixes the columns. */
  async begin(): Promise<void> {
    this.#begun ??= this.#begin();
    await this.#begun;
  }

  /** Passes a page to every output, as events; the slowest output determines the pace. A failure names the row. */
  async write(page: Page): Promise<void> {
    await this.begin();
    const { columns } = this;
    const { key, events } = this.options;
    const written = (writer: SinkWriter) =>
      writer.write(page).catch((failure: unknown) => {
        throw namingRow(failure, () => ({ key, columns }));
      });
    await each(this.opened, ({ at, writer }) =>
      events.during(
        'write',
        () => ({ at, number: page.number, rows: countOf(page) }),
        () => written(writer),
      ),
    );
  }

  async prepare() {
    return each(this.opened, async (opened) => {
      const { at, writer } = opened;
      const prepared = await this.options.events.during(
        'finish',
        () => ({ at }),
        () => writer.prepare(),
        ({ rows, bytes }) => ({ rows, bytes }),
      );
      return { ...opened, prepared };
    });
  }

  async abort(): Promise<void> {
    await each(this.opened, ({ writer }) => writer.abort());
  }

  async #begin(): Promise<void> {
    this.#columns = this.options.columns();
    await each(this.opened, ({ writer }) => writer.begin(this.#columns));
  }
}

export type RunOutputs = Outputs<Opened>;

/** A sink at the end of a run, before the commit. */
export type Output = Awaited<ReturnType<RunOutputs['prepare']>>[number];

interface RunOutputsOptions extends OutputsOptions, Omit<SinkContext, 'at' | 'reject' | 'nulled'> {
  reject(at: string, columns: readonly Column[], row: Row, fault: Fault): void;
}

/** Reserves all outputs, so that an unwritable one is reported before the first request. */
export async function openOutputs(sinks: readonly PlannedSink[], options: RunOutputsOptions): Promise<RunOutputs> {
  const opened: Opened[] = [];
  const outputs = new Outputs(opened, options);
  try {
    for (const sink of sinks) opened.push(await open(sink, options, () => outputs.columns));
  } catch (failure) {
    await outputs.abort();
    throw failure;
  }
  return outputs;
}

type Opened = Awaited<ReturnType<typeof open>>;

async function open(sink: PlannedSink, options: RunOutputsOptions, columns: () => readonly Column[]) {
  const { columns: _, reject, events: _events, ...context } = options;
  const { at, definition } = sink;
  /** Rows that the sink could not write, and values that `on_error: null` made `null`. */
  const counts = { rejected: 0, nulled: 0 };
  const writer = await definition.open(sink.config, {
    ...context,
    at,
    reject: (row, fault) => {
      counts.rejected += 1;
      reject(at, columns(), row, fault);
    },
    nulled: () => void (counts.nulled += 1),
  });
  // Identifies it for later runs: its path with placeholders, or its place, in the database or in the file; `undefined` for stdout.
  const output = sink.output ?? sink.place ?? (definition.prints ? undefined : at);
  return { at, sink, writer, output, counts, earlier: writer.earlier };
}
