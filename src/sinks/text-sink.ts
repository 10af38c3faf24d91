import type { OutputColumn } from '../core/index.js';
import type { Page } from '../flow/index.js';
import { storeOf } from '../store/index.js';
import type { Batch } from '../vector/index.js';
import { outputIn } from './options.js';
import { PhasedWriter, type BegunSink } from './phases.js';
import { project, type Projection, type ProjectionOptions } from './projection.js';
import type { PreparedOutput, SinkContext, SinkWriter } from './sink.js';

/** Some text, or its bytes in UTF-8. */
export type Piece = string | Uint8Array;

/** Converts rows to text. The pieces in sequence are the output. */
export interface TextFormat {
  /** Returns what precedes the first row, even if there are no rows. */
  head(): Piece;
  rows(batch: Batch): Piece;
  tail(): string;
}

/** Where the text goes. */
export interface TextTarget {
  readonly bytes: number;
  /** Resolves when the text is stored, or accepted by the reader of a pipe. */
  append(piece: Piece): Promise<void>;
  /** Prepares what was appended for a commit. */
  prepare(): Promise<Pick<PreparedOutput, 'path' | 'actions' | 'cleanup' | 'quarantine'>>;
  abort(): Promise<void>;
}

export interface TextSink extends ProjectionOptions {
  /** Creates the format, once the columns are fixed. */
  readonly format: (columns: readonly OutputColumn[]) => TextFormat;
}

/** Creates a sink that formats each page into one text and writes it immediately. It holds the text of one page. */
export function textSink(target: TextTarget, options: TextSink, context: SinkContext): SinkWriter {
  return new PhasedWriter(context.at, {
    begin: (columns) => BegunText.begin(target, project(columns, options, context), options),
    abort: () => target.abort(),
  });
}

/** A text whose columns are fixed. */
class BegunText implements BegunSink {
  #rows = 0;

  private constructor(
    private readonly target: TextTarget,
    private readonly projection: Projection,
    private readonly format: TextFormat,
  ) {}

  static async begin(target: TextTarget, projection: Projection, options: TextSink): Promise<BegunText> {
    const begun = new BegunText(target, projection, options.format(projection.columns));
    await begun.#put(begun.format.head());
    return begun;
  }

  async write(page: Page): Promise<void> {
    const batch = this.projection.take(page);
    if (batch.rows > 0) await this.#put(this.format.rows(batch));
    this.#rows += batch.rows;
  }

  async prepare(): Promise<PreparedOutput> {
    await this.#put(this.format.tail());
    const rows = this.#rows;
    return { ...(await this.target.prepare()), rows, bytes: this.target.bytes, total: rows, unchanged: 0, changed: 0 };
  }

  async #put(piece: Piece): Promise<void> {
    if (piece.length > 0) await this.target.append(piece);
  }
}

/**
 * Creates such a sink for a file.
 *
 * @throws {SinkError} `E_SINK_PATH`.
 */
export async function textFile(
  options: TextSink & { readonly path: string; readonly permissions: number },
  context: SinkContext,
): Promise<SinkWriter> {
  const destination = outputIn(options.path, context);
  const file = await storeOf([destination]).reserve(destination, context.runId, options.permissions);
  const target: TextTarget = {
    get bytes() {
      return file.bytes;
    },
    append: (piece) => file.append(piece),
    async prepare() {
      await file.close();
      return {
        path: destination,
        actions: () => Promise.resolve([file.action]),
        cleanup: () => Promise.resolve(),
        quarantine: () => file.quarantine(`${context.runId}.failed`),
      };
    },
    abort: () => file.discard(),
  };
  return textSink(target, options, context);
}
