import { type Value, instantTexts, type OutputColumn } from '../../core/index.js';
import {
  type Batch,
  encoding,
  memoOfTexts,
  partsOf,
  type Piece,
  pieceOf,
  plainBytes,
  plainExcept,
  Utf8,
  type Viewed,
} from '../../vector/index.js';
import type { TextFormat } from '../text-sink.js';

/**
 * Writes one JSON object per line, with keys in column order. Lines are assembled from texts, so whole numbers keep all digits and a column may have any name.
 */
export class NdjsonFormat implements TextFormat {
  readonly #out = new Utf8();
  readonly #instant = instantTexts();
  readonly #escaped = memoOfTexts((text) => pieceOf(JSON.stringify(text).slice(1)), maxEscaped);
  readonly #columns: readonly Member[];

  constructor(outputs: readonly OutputColumn[]) {
    this.#columns = outputs.map((column, index) => ({
      column,
      key: pieceOf(`${index === 0 ? '{' : ','}${JSON.stringify(column.name)}:`),
      encode: encoding((value) => this.#textIn(value, column)),
    }));
  }

  head() {
    return '';
  }

  rows(batch: Batch) {
    const out = this.#out;
    const members = this.#columns.map(({ encode, ...column }, index) => ({ ...column, ...partsOf(batch.column(index), encode) }));
    for (let row = 0; row < batch.rows; row += 1) {
      for (const { column, key, texts, dictionary, values } of members) {
        out.piece(key);
        if (texts) this.#putBytes(texts, row);
        else if (dictionary) out.encoded(dictionary.encoded, dictionary.indices[row] ?? 0);
        else this.#put(values[row] ?? null, column);
      }
      out.piece(end);
    }
    return out.take();
  }

  tail() {
    return '';
  }

  #put(value: Value, { type }: OutputColumn): void {
    if (value === null) this.#out.piece(nothing);
    else if (typeof value === 'string') this.#putText(value);
    else if (value instanceof Date) this.#putText(this.#instant(value, type));
    else this.#putWhole(String(value));
  }

  #textIn(value: Value, { type }: OutputColumn): string {
    if (typeof value === 'string') return JSON.stringify(value);
    return value instanceof Date ? JSON.stringify(this.#instant(value, type)) : String(value);
  }

  #putBytes(viewed: Viewed, row: number): void {
    this.#out.code(quote);
    if (this.#out.bytes(viewed, row, plainInBytes)) this.#out.code(quote);
    else this.#out.piece(this.#escaped(viewed.texts, row));
  }

  #putText(text: string): void {
    this.#out.code(quote);
    if (this.#out.plain(text, plain)) this.#out.code(quote);
    else this.#out.text(JSON.stringify(text).slice(1));
  }

  #putWhole(text: string): void {
    if (!this.#out.plain(text, plain)) this.#out.text(text);
  }
}

interface Member {
  readonly column: OutputColumn;
  readonly key: Piece;
  readonly encode: ReturnType<typeof encoding>;
}

/** Characters that JSON does not escape. */
const plain = plainExcept(/[\0-\x1f"\\]/);
const plainInBytes = plainBytes(plain, true);
const quote = 0x22;
const maxEscaped = 4096;
const nothing = pieceOf('null');
const end = pieceOf('}\n');
