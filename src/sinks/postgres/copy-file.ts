import type { OutputColumn, Value } from '../../core/index.js';
import { attempt, type Extent, type ScratchFile } from '../../store/index.js';
import { pieceOf, plainBytes, type Utf8Vector } from '../../vector/index.js';
import { CellFormat } from '../text.js';

/** Writes rows as the text of COPY. */
export class CopyFormat extends CellFormat {
  constructor(outputs: readonly OutputColumn[]) {
    super(outputs, (_, index) => pieceOf(index === 0 ? '' : '\t'), pieceOf('\n'));
  }

  protected override textOf(value: Value, { type }: OutputColumn): string {
    if (value === null) return '\\N';
    return value instanceof Date ? this.instant(value, type) : escaped(String(value));
  }

  protected override put(value: Value, column: OutputColumn): void {
    const text = this.textOf(value, column);
    // Faster for short texts of ASCII, as most are.
    if (!this.out.plain(text, anything)) this.out.text(text);
  }

  protected override putBytes(texts: Utf8Vector, row: number): void {
    if (!this.out.bytes(texts, row, plain)) this.out.text(escaped(texts.value(row)));
  }
}

const plain = plainBytes(/[\0-\x1f\\]/, true);
const anything = plainBytes(/(?!)/, true);
const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

export function escaped(text: string): string {
  return text.replaceAll(/[\\\n\r\t]/g, (character) => escapes[character] ?? character);
}

/** Rows of a run, or keys, in a private file of this machine, for as many transactions as their commit takes. */
export class CopyFile {
  rows = 0;
  bytes = 0;
  readonly #extents: Extent[] = [];

  constructor(private readonly file: ScratchFile) {}

  async append(text: Uint8Array, rows: number): Promise<void> {
    const failing = 'cannot keep the rows of this run on this machine';
    this.#extents.push(await attempt('E_SINK_WRITE', failing, () => this.file.append(text)));
    this.bytes += text.length;
    this.rows += rows;
  }

  async appendLines(lines: readonly string[]): Promise<void> {
    await this.append(Buffer.from(lines.join('')), lines.length);
  }

  /** Adds those of another one of the same file. */
  include(other: CopyFile): void {
    this.#extents.push(...other.#extents);
    this.rows += other.rows;
  }

  *chunks(): Iterable<Uint8Array> {
    for (const extent of this.#extents) yield* this.file.readAll([extent]);
  }
}
