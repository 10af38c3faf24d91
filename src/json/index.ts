export { afterSpace, ascii, compact, endOfLiteral, endOfNested, endOfText } from './places.js';
export { isJson, placeOf, segmentsOf, valueAt, without } from './pointer.js';
export { type JsonItem, type JsonRecord, JsonText, type JsonValue, readJson } from './read.js';
