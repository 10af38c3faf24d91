export { explainRow, type ExplainRowOptions } from './explain-row.js';
export type {
  KeyPart,
  RowCondition,
  RowExplanation,
  RowField,
  RowGate,
  RowJoin,
  RowOutput,
  RowOutputCounts,
  RowPassage,
  RowSearch,
} from './explanation.js';
