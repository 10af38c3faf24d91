export { Coded, mostCodes, perDictionary, putAt } from './coded.js';
export { pickFrom, rowAt, rowsIn, type Content } from './content.js';
export { codesOfTexts, memoOfTexts } from './memo.js';
export { pickAll, pickCells, Table, valueAt, valuesOf, type Cells } from './table.js';
export { Texts } from './texts.js';
