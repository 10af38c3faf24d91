export { compact } from './compact.js';
export { afterSpace, ascii, endOfLiteral, endOfNested, endOfText } from './places.js';
export { isJson, placeOf, valueAt } from './pointer.js';
export { type JsonItem, type JsonRecord, JsonText, type JsonValue, readJson } from './read.js';
export { without } from './without.js';
