import type { Column, Row } from '../core/index.js';
import type { Events } from '../events/index.js';
import { countOf, emptyTally, namingRow, type Fault, type KnownRows, type OnError, type Page } from '../flow/index.js';
import { getIn } from '../options/index.js';
import type { PlannedSink } from '../plan/index.js';
import type { SinkContext, SinkWriter } from '../sinks/index.js';
import { keeping } from '../steps/index.js';
import { each } from './publish.js';

interface OutputsOptions extends Pick<KnownRows, 'key'> {
  /** Called once, with the first page or at the end. */
  columns(): readonly Column[];
  readonly events: Events;
}

interface OutputOfPages {
  readonly at: string;
  readonly writer: SinkWriter;
  /** Keeps the rows that are for it. Default: all. */
  keep?(page: Page): Page;
}

export class Outputs<O extends OutputOfPages> {
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
    const written = async ({ at, writer, keep }: OutputOfPages) => {
      const kept = keep?.(page) ?? page;
      const facts = () => ({ at, number: kept.number, rows: countOf(kept) });
      await events.during('write', facts, () => writer.write(kept));
    };
    await each(this.opened, (output) =>
      written(output).catch((failure: unknown) => {
        throw namingRow(failure, () => ({ key, columns }));
      }),
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
  /** Receives the rows that pass the `where` of a sink. */
  onKept(at: string, page: Page): void;
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
  const { columns: _, reject, onKept, events: _events, ...context } = options;
  const { at, definition, where } = sink;
  /** Rows that `where` filtered or that could not be written, and values that `on_error: null` made `null`. */
  const counts = emptyTally();
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
  const opened = { at, sink, writer, output, counts, earlier: writer.earlier };
  if (where === undefined) return opened;
  const onError = onErrorOf(sink.config, context.onError);
  const firstStart = new Date(context.firstStart());
  let keepRows: ReturnType<typeof keeping> | undefined;
  const keep = (page: Page): Page => {
    const input = columns();
    const rejected = (row: Row, fault: Fault) => reject(at, input, row, fault);
    keepRows ??= keeping(where, { at, tally: counts, reject: rejected, input, onError, firstStart });
    const kept = keepRows(page);
    onKept(at, kept);
    return kept;
  };
  return { ...opened, keep };
}

/** What happens to a row for which the `where` of a sink fails. */
export function onErrorOf(config: unknown, otherwise: OnError): OnError {
  const own = getIn(config, ['on_error']);
  return own === 'reject' || own === 'null' || own === 'fail' ? own : otherwise;
}
