/** The fields of the collections, without the rest of the library: what a measured process of somebody else's code may load. */
export { collections, columnsOf, originalName, type Field } from '../../src/collections/index.js';
