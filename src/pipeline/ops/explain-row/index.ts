export { explainRow, type ExplainRowOptions } from './explain-row.js';
export type { RowCondition } from '../../../steps/index.js';
export type {
  KeyPart,
  RowExplanation,
  RowField,
  RowGate,
  RowJoin,
  RowOutput,
  RowOutputCounts,
  RowPassage,
  RowSearch,
} from './explanation.js';
