export { explainRow, type ExplainRowOptions } from './explain-row.js';
export type { KeyPart, RowExplanation, RowField, RowJoin, RowOutput, RowPassage, RowSearch } from './explanation.js';
