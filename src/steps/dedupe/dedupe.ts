import { defer, identity, map, pipe } from 'rxjs';
import type { z } from 'zod';
import { isOnceOf, type Row } from '../../core/index.js';
import { usually } from '../../options/index.js';
import { batchOf, KeyMap, withBatch, type Step, type Tally } from '../../flow/index.js';
import { keysOf } from '../../vector/index.js';
import { checkedConfig, builtInStep, stepOf, type StepDefinition } from '../step.js';
import { casefold, refuseRepeats, requireColumn, requireDuckdb } from '../fields.js';
import { sortStep } from '../sort/sort.js';
import { grouping } from './grouping.js';

const defaultMaxGroup = 20;

/** How keys are compared. */
export interface DedupeOptions {
  /** `casefold` trims and folds case before comparing, as in `join`. Default: texts must be identical. */
  readonly normalize?: 'casefold' | undefined;
}

/**
 * Passes a row only if no earlier row had its key. A row without a part of the key cannot be compared, so it passes. Memory: at most 32
 * bytes per distinct key, however long the keys are.
 *
 * @param key Columns that together identify a row, at least one.
 * @throws {StepError} `E_STEP_CONFIG` for an empty key, which would make all rows equal; `E_STEP_FIELD` if no row of a non-empty page has
 * one of its columns.
 *
 * @example
 * service.leads.pipe(dedupe(['lead_id']));
 * service.leads.pipe(dedupe(['email'], { normalize: 'casefold' }));
 */
export function dedupe<T extends Row>(key: readonly (keyof T & string)[], options: DedupeOptions = {}): Step<T, T> {
  return stepOf(dedupeStep, checkedConfig(dedupeStep, { by: key }, options), key);
}

/** Deduplicates by columns that may be missing. @param tally Counts the rows that are dropped. */
export function deduping<T extends Row>(
  key: readonly string[],
  { normalize }: DedupeOptions,
  tally: Pick<Tally, 'duplicates'>,
): Step<T, T> {
  const fold = normalize === 'casefold' ? casefold : undefined;
  return (pages$) =>
    defer(() => {
      const seen = new KeyMap();
      return pages$.pipe(
        map((page) => {
          const batch = batchOf(page);
          const keyAt = keysOf(batch, key, fold);
          const kept = batch.filter((row) => {
            const text = keyAt(row);
            return text === undefined || seen.add(text);
          });
          tally.duplicates += batch.length - kept.length;
          return withBatch<T>(page, kept);
        }),
      );
    });
}

export interface DedupeConfig extends DedupeOptions {
  readonly by?: readonly string[] | undefined;
  readonly any?: readonly (readonly string[])[] | undefined;
  readonly max_group?: number | undefined;
  readonly keep?: { readonly max: string } | undefined;
}

/** A read with a consistency check has every row once by the collection's key, so a second set of keys would find nothing. */
export const dedupeStep: StepDefinition<'dedupe', DedupeConfig> = builtInStep('dedupe', {
  summary:
    'Drops rows whose key was seen before; the first row read stays. Holds at most 32 bytes per key in memory. With any, it takes all ' +
    'rows first, with DuckDB: rows that share no key with an earlier one wait in a scratch file, and take 12 more bytes each.',
  config: (z): z.ZodType<DedupeConfig> =>
    z.strictObject({
      by: z.array(z.string().min(1)).min(1).optional().describe("Fields that identify a row. Default: the collection's key."),
      any: z
        .array(z.array(z.string().min(1)).min(1))
        .min(1)
        .optional()
        .describe(
          'Instead of by: keys like [[phone], [email]]. Rows that share one are the same, also through others; blanks never match.',
        ),
      max_group: usually(z.int().min(2), defaultMaxGroup).describe(
        'With any: if more rows than this are the same, often by a made-up value, the run is refused with exit code 65.',
      ),
      normalize: z.literal('casefold').optional().describe('Trim and fold case before comparing, as in join.'),
      keep: z
        .strictObject({ max: z.string().min(1) })
        .optional()
        .describe(
          '{ max: field } keeps the row with the greatest value, of several the first, and sorts all rows by it as sort does, with DuckDB.',
        ),
    }),
  examples: [
    {},
    { by: ['email'], normalize: 'casefold' },
    { by: ['email'], keep: { max: 'timestamp' } },
    { any: [['cell_phone'], ['email']], normalize: 'casefold' },
  ],
  variant: ({ any, keep }) => (any || keep) && blockingStep,
  columns: ({ by, any, max_group, keep }, input, plan) => {
    if (any || keep) requireDuckdb(plan);
    if (any && by) plan.problem(['any'], 'any and by exclude each other');
    if (max_group !== undefined && !any) plan.problem(['max_group'], 'max_group needs any');
    any?.forEach((key, list) => {
      refuseRepeats(key, plan, ['any', list]);
      key.forEach((name, index) => requireColumn(name, input, plan, ['any', list, index]));
    });
    if (keep) requireColumn(keep.max, input, plan, ['keep', 'max']);
    if (any) return input;
    refuseRepeats(by ?? [], plan, ['by']);
    (by ?? plan.collection?.key ?? []).forEach((name, index) => {
      const column = requireColumn(name, input, plan, by ? ['by', index] : []);
      // Rows that an earlier step repeated or rekeyed are not duplicates.
      if (by || !column || isOnceOf(name, column)) return;
      const reason = `because an earlier step changes ${name} or repeats rows; list fields under by`;
      plan.problem([], `the collection's key does not identify a row here, ${reason}`);
    });
    return input;
  },
  open: ({ by, normalize }, runtime) => {
    const { collection, distinct = false } = runtime;
    const unique = collection?.key ?? [];
    const key = by ?? unique;
    const nothingToDo = distinct && !normalize && key.length === unique.length && unique.every((column) => key.includes(column));
    return nothingToDo ? identity : deduping(key, { normalize }, runtime.tally);
  },
});

/** With `keep`, sorts all rows, so that the first one of a key is the one to keep. */
const blockingStep: StepDefinition<'dedupe', DedupeConfig> = {
  ...dedupeStep,
  blocking: true,
  open: ({ by, any, max_group = defaultMaxGroup, normalize, keep }, runtime) => {
    const dropping = any
      ? grouping(any, { fold: normalize && casefold, most: max_group }, runtime)
      : deduping(by ?? runtime.collection?.key ?? [], { normalize }, runtime.tally);
    return keep ? pipe(sortStep.open({ by: [{ field: keep.max, descending: true }] }, runtime), dropping) : dropping;
  },
};
