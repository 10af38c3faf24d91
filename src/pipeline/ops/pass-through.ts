import type { Column } from '../../core/index.js';
import type { PlannedStep } from '../spec/planned.js';

/** Creates a step that passes all rows through unchanged. @param name Name of the step. */
export function passThrough(name: string, at: string, input: readonly Column[]): Omit<PlannedStep, 'open'> {
  return {
    name,
    version: undefined,
    at,
    input,
    columns: (columns) => columns,
    reads: undefined,
    holds: undefined,
    keepsRows: true,
    blocking: false,
    most: undefined,
    addsRows: false,
    alone: undefined,
    expressions: [],
    conditions: () => [],
    joins: undefined,
    gate: () => undefined,
    remark: () => undefined,
  };
}
