import { defined, instantTexts, type OutputColumn, type Value } from '../core/index.js';
import { scratchFolder } from '../engine/index.js';
import { openOutput, type OutputFile } from '../store/index.js';
import { DictionaryVector, encoding, Utf8, Utf8Vector, type Batch, type Piece } from '../vector/index.js';
import { outputAt, outputPlaceOf } from './options.js';
import { project, type ProjectionOptions } from './projection.js';
import { nothingToCommit, PhasedWriter, type SinkContext, type SinkWriter } from './sink.js';

export type TextChunk = string | Uint8Array;

/** Converts rows to texts, whose sequence is the output, with `head` and `tail` also if there are no rows. */
export interface TextFormat {
  head?(): TextChunk;
  /** @param least Bytes below which the format may keep the text, until it has more rows or the tail. */
  rows(batch: Batch, least: number): TextChunk;
  tail?(): TextChunk;
}

/** A format that writes rows by cell, most of them without creating a string. */
export abstract class CellFormat implements TextFormat {
  protected readonly out = new Utf8();
  protected readonly instant = instantTexts();
  readonly #cells: readonly { readonly column: OutputColumn; readonly before: Piece; readonly encode: ReturnType<typeof encoding> }[];

  protected constructor(
    columns: readonly OutputColumn[],
    before: (column: OutputColumn, index: number) => Piece,
    private readonly end: Piece,
  ) {
    this.#cells = columns.map((column, index) => {
      return { column, before: before(column, index), encode: encoding((value) => this.textOf(value, column)) };
    });
  }

  /** Returns the text of a cell with a value that repeats. */
  protected abstract textOf(value: Value, column: OutputColumn): string;

  protected abstract put(value: Value, column: OutputColumn): void;

  protected abstract putBytes(texts: Utf8Vector, row: number): void;

  rows(batch: Batch, least = 0): Uint8Array {
    const { out } = this;
    const cells = this.#cells.map(({ column, before, encode }, index) => {
      const vector = batch.column(index);
      const dictionary = vector instanceof DictionaryVector ? { indices: vector.indices, encoded: encode(vector) } : undefined;
      return { column, before, vector, texts: vector instanceof Utf8Vector ? vector : undefined, dictionary };
    });
    for (let row = 0; row < batch.rows; row += 1) {
      for (const { column, before, vector, texts, dictionary } of cells) {
        out.piece(before);
        if (texts) this.putBytes(texts, row);
        else if (dictionary) out.encoded(dictionary.encoded, dictionary.indices[row] ?? 0);
        else this.put(vector.value(row), column);
      }
      out.piece(this.end);
    }
    return out.take(least);
  }

  tail(): Uint8Array {
    return this.out.take();
  }
}

/** Bytes that are written to a file at a time: each write costs as much as formatting some hundred rows. */
export const leastWrite = 1 << 17;

/** A file, or a stream that only takes text. */
export type TextTarget = Pick<OutputFile, 'append'> & Partial<OutputFile>;

export interface TextSink extends ProjectionOptions {
  readonly format: (columns: readonly OutputColumn[]) => TextFormat;
}

/** Creates a sink that writes the text of a page at once to a stream, and together with those of other small pages to a file. */
export function textSink(target: TextTarget, options: TextSink, context: SinkContext, path?: string): SinkWriter {
  const least = target.close ? leastWrite : 0;
  let bytes = 0;
  const put = async (text: TextChunk = ''): Promise<void> => {
    if (text.length > 0) await target.append(text);
    bytes += Buffer.byteLength(text);
  };
  return new PhasedWriter(context.at, {
    async begin(columns) {
      const projection = project(columns, options, context);
      const format = options.format(projection.columns);
      let rows = 0;
      await put(format.head?.());
      return {
        async write(page) {
          const batch = projection.take(page);
          if (batch.rows > 0) await put(format.rows(batch, least));
          rows += batch.rows;
        },
        async prepare() {
          await put(format.tail?.());
          await target.close?.();
          const { actions = [], commit } = target;
          const committed = { ...defined({ path, commit }), actions: () => Promise.resolve(actions) };
          return { ...nothingToCommit, ...committed, rows, bytes, total: rows, unchanged: 0, changed: 0 };
        },
      };
    },
    abort: async () => target.discard?.(),
  });
}

/** Creates such a sink for a file. @throws {SinkError} `E_SINK_PATH`. */
export async function textFile(
  options: TextSink & { readonly path: string; readonly permissions: number },
  context: SinkContext,
): Promise<SinkWriter> {
  const destination = outputAt(options.path, outputPlaceOf(context));
  const { runId, stores, scratch = scratchFolder() } = context;
  const file = await openOutput(destination, { runId, mode: options.permissions, stores, scratch });
  return textSink(file, options, context, destination);
}
