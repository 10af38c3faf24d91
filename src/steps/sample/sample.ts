import { map } from 'rxjs';
import type { Row } from '../../core/index.js';
import { batchOf, halfSipHash, withBatch, type Step } from '../../flow/index.js';
import { usually } from '../../options/index.js';
import { keyOf, keysOf, type RecordBatch } from '../../vector/index.js';
import { checkedConfig, builtInStep, nothingKept, stepOf } from '../step.js';
import { refuseRepeats, requireColumn } from '../fields.js';

/** Which rows are in a sample. */
export interface SampleOptions<F extends string = string> {
  /** Percentage of keys to keep, above 0, at most 100. */
  readonly percent: number;
  /** Fields that identify a row, at least one: rows with the same values are kept or dropped together. */
  readonly by: readonly F[];
  /** A whole number from 0 to 4294967295 that selects the sample. Default 0. */
  readonly seed?: number | undefined;
}

const defaultSeed = 0;

/**
 * Keeps a share of the rows, chosen by a hash of their keys: the same rows in every run, for any order of rows and any size of pages. A
 * smaller sample is part of a larger one with the same seed. Rows without a part of the key are chosen by all their fields.
 *
 * @throws {StepError} `E_STEP_CONFIG`, synchronously, for invalid options; `E_STEP_FIELD` if no row of a non-empty page has a key field.
 *
 * @example
 * service.leads.pipe(sample({ percent: 1, by: ['lead_id'] }));
 */
export function sample<T extends Row>(options: SampleOptions<keyof NoInfer<T> & string>): Step<T, T> {
  return stepOf(sampleStep, checkedConfig(sampleStep, options, {}), options.by);
}

/** Returns one text for all values of a row, for any order of its columns. */
function wholeRow({ columns }: RecordBatch, row: number): string {
  const values = [...columns].sort(([one], [other]) => (one < other ? -1 : 1)).map(([name, vector]) => [name, keyOf([vector.value(row)])]);
  return JSON.stringify(values.filter(([, value]) => value !== undefined));
}

export const sampleStep = builtInStep('sample', {
  summary: 'Keeps a share of the rows, chosen by a hash of their keys, so that every run chooses the same ones.',
  config: (z) =>
    z.strictObject({
      percent: z.number().gt(0, 'must be above 0').max(100).describe('Share of the keys to keep, in percent: above 0, at most 100.'),
      by: z
        .array(z.string().min(1))
        .min(1)
        .optional()
        .describe("Fields whose values are hashed: rows that share them stay together. Default: the collection's key."),
      seed: usually(z.int().min(0).max(0xff_ff_ff_ff), defaultSeed).describe('Whole number that selects the sample.'),
    }),
  keepsRows: true,
  examples: [{ percent: 1 }, { percent: 12.5, by: ['email'], seed: 7 }],
  columns: ({ by }, input, plan) => {
    refuseRepeats(by ?? [], plan, ['by']);
    (by ?? plan.collection?.key ?? []).forEach((name, index) => requireColumn(name, input, plan, by ? ['by', index] : []));
    return input;
  },
  open: ({ percent, by, seed = defaultSeed }, { collection, tally }) => {
    const key = by ?? collection?.key ?? [];
    const words = Uint32Array.of(seed, 0, 0, 0);
    const below = (percent / 100) * 2 ** 32;
    const hash = new Uint32Array(1);
    return map((page) => {
      const batch = batchOf(page);
      const keyAt = keysOf(batch, key);
      const kept = batch.filter((row) => {
        halfSipHash(keyAt(row) ?? wholeRow(batch, row), words, hash);
        return (hash[0] ?? 0) < below;
      });
      tally.filtered += batch.length - kept.length;
      return withBatch(page, kept);
    });
  },
  remark: (_, tally, arrived) => nothingKept(tally, arrived),
});
