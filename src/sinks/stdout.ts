import type { z } from 'zod';
import { itemAt, printable, schema, SinkError, textOf, type OutputColumn } from '../core/index.js';
import { attempt, errnoOf } from '../store/index.js';
import type { Batch } from '../vector/index.js';
import { openInCode } from './alone.js';
import { csvFormat } from './csv.js';
import { NdjsonFormat } from './ndjson.js';
import { checkColumns, textOptions } from './options.js';
import { builtInSink, type SinkContext, type SinkWriter } from './sink.js';
import { textSink, type TextChunk, type TextFormat, type TextTarget } from './text.js';

const config = schema((z) =>
  z.strictObject({
    format: z
      .enum(['ndjson', 'csv', 'table'])
      .default('ndjson')
      .describe('Format of the rows: one JSON object per line, CSV with a header, or a table for people.'),
    ...textOptions(),
    max_width: z.int().min(2).default(40).describe('Widest column of a table, in characters.'),
  }),
);

/** The options of `stdout`, named and explained as in the reference of pipeline files. */
export type StdoutOptions = Omit<z.input<ReturnType<typeof config>>, 'where'>;

/**
 * Writes rows to standard output as they arrive. Nothing is published, and nothing can be undone.
 *
 * @returns A writer whose `write` waits for the reader, and rejects with `ClosedPipeError` when the reader is gone.
 *
 * @example
 * const out = await stdout({ format: 'table' });
 * // uid  email  affid
 * // ---  -----  -----
 * // 7    a@b.c  1
 */
export async function stdout(options: StdoutOptions = {}, context: Partial<SinkContext> = {}): Promise<SinkWriter> {
  return openInCode(stdoutSink, options, context);
}

export const stdoutSink = builtInSink({
  name: 'stdout',
  summary: 'Writes rows to standard output as JSON lines, CSV or a table.',
  config,
  examples: [{}, { format: 'csv' }, { format: 'table', max_width: 24 }],
  check: (options, arriving, plan) => checkColumns(options.columns, arriving, plan),
  prints: true,
  output: () => undefined,
  open: async (options, context) =>
    textSink(streamTarget(context.stdout, context.at), { ...options, ...(await formatOf(options)) }, context),
});

async function formatOf({ format, max_width: widest }: z.output<ReturnType<typeof config>>) {
  if (format === 'csv') return csvFormat({ delimiter: ',', bom: false, escape_formulas: false });
  return {
    format: (columns: readonly OutputColumn[]) => (format === 'table' ? new TextTableFormat(columns, widest) : new NdjsonFormat(columns)),
    json: true,
  };
}

/** A plain table for people, as wide as the header and the first page need; later values that are wider are cut with `…`. */
export class TextTableFormat implements TextFormat {
  #widths: readonly number[] | undefined;

  constructor(
    private readonly columns: readonly OutputColumn[],
    private readonly widest: number,
  ) {}

  rows(batch: Batch): string {
    const cells = Array.from({ length: batch.rows }, (_, row) =>
      this.columns.map(({ type }, index) => printable(textOf(batch.column(index).value(row), type) ?? '')),
    );
    return this.#head(cells) + cells.map((row) => this.#line(row)).join('');
  }

  tail(): string {
    return this.#head([]);
  }

  #head(rows: readonly (readonly string[])[]): string {
    if (this.#widths !== undefined) return '';
    const header = this.columns.map(({ name }) => printable(name));
    const widthOf = (index: number) =>
      [header, ...rows].reduce((most, row) => Math.min(this.widest, Math.max(most, Array.from(itemAt(row, index)).length)), 0);
    const widths = (this.#widths = header.map((_, index) => widthOf(index)));
    return this.#line(header) + this.#line(widths.map((count) => '-'.repeat(count)));
  }

  #line(cells: readonly string[]): string {
    const padded = cells.map((cell, index) => cut(cell, itemAt(this.#widths ?? [], index)));
    return `${padded.join('  ').trimEnd()}\n`;
  }
}

/** Pads or cuts a text to a number of characters; a cut ends with `…`. */
function cut(text: string, room: number): string {
  const characters = Array.from(text);
  return characters.length > room ? `${characters.slice(0, room - 1).join('')}…` : text + ' '.repeat(room - characters.length);
}

/**
 * Thrown when the reader of standard output is gone, as `head` does it. The code is `E_SINK_WRITE`.
 *
 * @example
 * await writeTo(service.leads, stdout()).catch((error: unknown) => {
 *   if (!(error instanceof ClosedPipeError)) throw error; // who reads has seen enough
 * });
 */
export class ClosedPipeError extends SinkError {
  /** @internal */
  static override readonly name: string = 'ClosedPipeError';
}

/** A reader may pause at will. On a terminal, control characters are escaped, so that no value controls it. */
function streamTarget(stream: NodeJS.WritableStream & { readonly isTTY?: boolean }, at: string): TextTarget {
  const utf8 = new TextDecoder();
  const shown = (piece: TextChunk) => {
    const text = typeof piece === 'string' ? piece : utf8.decode(piece, { stream: true });
    return text.split('\n').map(printable).join('\n');
  };
  // Each write's callback reports failures; an `error` event without a listener would end the process.
  if (!stream.listeners('error').includes(ignore)) stream.on('error', ignore);
  return {
    async append(piece) {
      await attempt('E_SINK_WRITE', `${at}: cannot write`, async () => {
        const failure = await new Promise<Error | null | undefined>(
          (resolve) => void stream.write(stream.isTTY ? shown(piece) : piece, resolve),
        );
        if (failure && closed.has(errnoOf(failure) ?? '')) throw new ClosedPipeError('E_SINK_WRITE', `${at}: the reader closed the pipe`);
        if (failure) throw failure;
      });
    },
  };
}

const closed = new Set(['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END']);

function ignore(): void {}
