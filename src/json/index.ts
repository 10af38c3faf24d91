export { afterSpace, ascii, endOfLiteral, endOfNested, endOfText } from './places.js';
export { compact } from './compact.js';
export { JsonText, readJson, type JsonItem, type JsonRecord, type JsonValue } from './read.js';
