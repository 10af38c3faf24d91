export { type ColumnBuilder, type ColumnBytes, Utf8Builder, Validity } from './column-builder.js';
export { digestOf, digestsOf } from './digest.js';
export { KeptColumn } from './kept-column.js';
export { type RowDigests, rowDigests } from './keyed-digest.js';
export { type Compare, comparing, daysOf, keyOf, keysOf, memoByKey, type Normalize } from './key.js';
export { dictionaryEncoder, type Mapped, mappedFrom, mapping, memoOf, memoOfTexts, Unfit } from './memo.js';
export { Batch, batchFromRows, fieldOf, ownValue, RecordBatch } from './record-batch.js';
export { encoding, type Piece, pieceOf, type PlainBytes, plainBytes, Utf8 } from './utf8.js';
export { DictionaryVector, firstOtherThanText, FlatVector, longer, maxDictionary, taking, Utf8Vector, type Vector } from './vectors.js';
