export { pickFrom, rowAt, rowsIn, type Content } from './content.js';
export { memoOfTexts } from './memo.js';
export { pickCells, Table, valueAt, valuesOf, type Cells } from './table.js';
export { Texts } from './texts.js';
