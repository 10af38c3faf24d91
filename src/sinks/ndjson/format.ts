import { type Value, instantTexts, type OutputColumn } from '../../core/index.js';
import { encoding, memoOfTexts, partsOf, pieceOf, plainBytes, plainExcept, Utf8, type Viewed } from '../../vector/index.js';
import type { TextFormat } from '../text-sink.js';

/**
 * One JSON object per line, keys in column order. The lines are put together from texts, so whole numbers keep all
 * digits and a column may have any name.
 */
export function ndjsonFormat(outputs: readonly OutputColumn[]): TextFormat {
  const escaped = memoOfTexts((text) => pieceOf(JSON.stringify(text).slice(1)), maxEscaped);
  const instant = instantTexts();
  const out = new Utf8();
  const columns = outputs.map((column, index) => ({
    column,
    key: pieceOf(`${index === 0 ? '{' : ','}${JSON.stringify(column.name)}:`),
    encode: encoding((value) => textIn(value, column)),
  }));

  function put(value: Value, { type }: OutputColumn): void {
    if (value === null) out.piece(nothing);
    else if (typeof value === 'string') putText(value);
    else if (value instanceof Date) putText(instant(value, type));
    else putWhole(String(value));
  }

  function textIn(value: Value, { type }: OutputColumn): string {
    if (typeof value === 'string') return JSON.stringify(value);
    return value instanceof Date ? JSON.stringify(instant(value, type)) : String(value);
  }

  function putBytes(viewed: Viewed, row: number): void {
    out.code(quote);
    if (out.bytes(viewed, row, plainInBytes)) out.code(quote);
    else out.piece(escaped(viewed.texts, row));
  }

  function putText(text: string): void {
    out.code(quote);
    if (out.plain(text, plain)) out.code(quote);
    else out.text(JSON.stringify(text).slice(1));
  }

  function putWhole(text: string): void {
    if (!out.plain(text, plain)) out.text(text);
  }

  return {
    head: () => '',
    rows: (batch) => {
      const members = columns.map(({ encode, ...column }, index) => ({ ...column, ...partsOf(batch.column(index), encode) }));
      for (let row = 0; row < batch.rows; row += 1) {
        for (const { column, key, texts, dictionary, values } of members) {
          out.piece(key);
          if (texts) putBytes(texts, row);
          else if (dictionary) out.encoded(dictionary.encoded, dictionary.indices[row] ?? 0);
          else put(values[row] ?? null, column);
        }
        out.piece(end);
      }
      return out.take();
    },
    tail: () => '',
  };
}

/** What JSON need not escape. */
const plain = plainExcept(/[\0-\x1f"\\]/);
const plainInBytes = plainBytes(plain, true);
const quote = 0x22;
const maxEscaped = 4096;
const nothing = pieceOf('null');
const end = pieceOf('}\n');
