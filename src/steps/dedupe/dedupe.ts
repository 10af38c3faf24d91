import { defer, identity, map, pipe } from 'rxjs';
import { schema, type Row } from '../../core/index.js';
import { batchOf, KeySet, standalone, withBatch, type Step, type StepContext } from '../../flow/index.js';
import { checkArguments } from '../../options/index.js';
import { keysOf } from '../../vector/index.js';
import { refuseRepeats, requireColumn } from '../fields.js';
import { requireFields } from '../require-fields.js';
import { defineStep } from '../step.js';

const taken = schema((z) => z.strictObject({ key: z.array(z.string().min(1)).min(1) }));

/**
 * Lets a row pass only if no earlier one had the same key. A row that lacks a part of its key cannot be compared and
 * passes.
 *
 * Memory: at most 32 bytes per distinct key, whatever the keys' length.
 *
 * @param key Columns that together identify a row, at least one.
 * @throws {StepError} `E_STEP_CONFIG` for a key without a column, which would make all rows the same; `E_STEP_FIELD` when no row of a non-empty page has
 * one of them.
 *
 * @example
 * leads$.pipe(dedupe(['lead_id']));
 */
export function dedupe<T extends Row>(key: readonly (keyof T & string)[], context: StepContext = standalone('dedupe')): Step<T, T> {
  checkArguments(context.at, taken, { key });
  return pipe(requireFields(context.at, key), deduping(key, context));
}

function deduping<T extends Row>(key: readonly string[], context: StepContext): Step<T, T> {
  return (pages$) =>
    defer(() => {
      const seen = new KeySet();
      return pages$.pipe(
        map((page) => {
          const batch = batchOf(page);
          const keyAt = keysOf(batch, key);
          const kept = batch.filter((row) => {
            const text = keyAt(row);
            return text === undefined || seen.add(text);
          });
          context.tally.duplicates += batch.length - kept.length;
          return withBatch<T>(page, kept);
        }),
      );
    });
}

/** By the collection's key, a read that is checked for consistency has every row once already; a second set would find nothing. */
export const dedupeStep = defineStep('dedupe', {
  summary: 'Drops rows whose key was seen before; the first row read stays.',
  config: (z) =>
    z.strictObject({
      by: z.array(z.string().min(1)).min(1).optional().describe("Fields that identify a row. Default: the collection's key."),
    }),
  examples: [{}, { by: ['email'] }],
  columns: ({ by }, input, plan) => {
    refuseRepeats(by ?? [], plan, ['by']);
    (by ?? plan.collection.key).forEach((name, index) => requireColumn(name, input, plan, by ? ['by', index] : []));
    return input;
  },
  open: ({ by }, runtime) => {
    const { collection, distinct = false } = runtime;
    const key = by ?? collection.key;
    const nothingToDo = distinct && key.length === collection.key.length && collection.key.every((column) => key.includes(column));
    return nothingToDo ? identity : deduping(key, runtime);
  },
});
