import { reserveFile } from '../store/index.js';
import type { Column, OutputColumn } from '../core/index.js';
import { batchOf } from '../flow/index.js';
import { inPhases } from './phases.js';
import { project, type Projection, type ProjectionOptions } from './projection.js';
import type { Batch } from '../vector/index.js';
import type { SinkContext, SinkWriter, Staged } from './sink.js';

/** Some text, or its bytes in UTF-8. */
export type Piece = string | Uint8Array;

/** How rows become text. The pieces, put behind each other, are the output. */
export interface TextFormat {
  /** What stands before the first row, also when there are no rows. */
  head(): Piece | Promise<Piece>;
  rows(batch: Batch): Piece | Promise<Piece>;
  tail(): string;
}

/** Where the text goes. */
export interface TextTarget {
  readonly bytes: number;
  /** Resolves when the text is stored, or taken by the reader of a pipe. */
  append(piece: Piece): Promise<void>;
  /** Makes what was appended ready for publication. */
  finish(): Promise<Pick<Staged, 'path' | 'publication' | 'settle' | 'setAside'>>;
  abort(): Promise<void>;
}

export interface TextSink extends ProjectionOptions {
  /** Makes the format, once the columns are fixed. */
  readonly format: (columns: readonly OutputColumn[]) => TextFormat;
}

/** A sink that formats each page into one text and writes that at once. It holds the text of one page. */
export function textSink(target: TextTarget, options: TextSink, context: SinkContext): SinkWriter {
  let projection: Projection;
  let format: TextFormat;
  let rows = 0;
  const put = async (piece: Piece): Promise<void> => (piece.length === 0 ? undefined : target.append(piece));
  return inPhases(context.at, {
    async begin(columns: readonly Column[]) {
      projection = project(columns, options, context);
      format = options.format(projection.columns);
      await put(await format.head());
    },
    async write(page) {
      const batch = projection.take(batchOf(page));
      if (batch.rows > 0) await put(await format.rows(batch));
      rows += batch.rows;
    },
    async finish() {
      await put(format.tail());
      return { ...(await target.finish()), rows, bytes: target.bytes, total: rows, unchanged: 0, changed: 0 };
    },
    abort: () => target.abort(),
  });
}

/**
 * A file as a target.
 *
 * @param destination Absolute path.
 * @throws {SinkError} `E_SINK_PATH`.
 */
export async function fileTarget(destination: string, runId: string, permissions: number): Promise<TextTarget> {
  const file = await reserveFile(destination, runId, permissions);
  return {
    get bytes() {
      return file.bytes;
    },
    append: (piece) => file.append(piece),
    async finish() {
      await file.close();
      return {
        path: destination,
        publication: () => Promise.resolve([file.move]),
        settle: () => Promise.resolve(),
        setAside: () => file.setAside(`${runId}.failed`),
      };
    },
    abort: () => file.discard(),
  };
}
