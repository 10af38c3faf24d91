/** The fields of the collections, without the rest of the library: for measured processes that run third-party code. */
export { collections, columnsOf, originalName, type Field } from '../../src/collections/index.js';
