import { createHmac } from 'node:crypto';
import { map, pipe } from 'rxjs';
import { schema, textOf, type Column, type Row, type Value, StepError } from '../../core/index.js';
import { mapping, type Mapped, type Vector } from '../../vector/index.js';
import { batchOf, withBatch, type Step } from '../../flow/index.js';
import { checkArguments } from '../../options/index.js';
import { requireColumn } from '../fields.js';
import { requireFields } from '../require-fields.js';
import { defineStep } from '../step.js';

const maskKinds = ['drop', 'null', 'hmac', 'last4', 'redact'] as const;

/**
 * How a field is hidden: `drop` removes the column, `null` empties it, `hmac` replaces a value by its keyed digest
 * (HMAC-SHA-256, hexadecimal; equal values stay equal), `last4` keeps the last four characters behind as many stars as
 * there were characters, `redact` leaves a fixed word.
 */
export type Mask = (typeof maskKinds)[number];

/** What masking takes besides the fields. */
export interface MaskOptions {
  /** Secret key of `hmac`, at least 16 characters; `undefined`, as of a variable that is not set, is none. */
  readonly hmacKey?: string | undefined;
}

const taken = schema((z) =>
  z.strictObject({
    masks: z.record(z.string(), z.enum(maskKinds).optional()),
    options: z.strictObject({ hmacKey: z.string().optional() }),
  }),
);

/**
 * Hides the values of some fields. Empty and missing values stay as they are, so that completeness can still be judged.
 *
 * @param masks Kind of mask by field.
 * @throws {StepError} `E_STEP_CONFIG` for `hmac` without a key, and arguments that cannot be right; `E_STEP_FIELD` when no row of a non-empty page has a named field, which
 * would leave what was meant in clear.
 *
 * @example
 * leads$.pipe(mask({ sin_number: 'drop', cell_phone: 'last4' }));
 * // { sin_number: '046454286', cell_phone: '2125550142' }  ->  { cell_phone: '******0142' }
 */
export function mask<T extends Row>(
  masks: Readonly<Partial<Record<keyof NoInfer<T> & string, Mask>>>,
  options: MaskOptions = {},
): Step<T, Row> {
  checkArguments('mask', taken, { masks, options });
  return pipe(requireFields<T>('mask', Object.keys(masks)), masking(masks, options));
}

function masking(masks: Readonly<Partial<Record<string, Mask>>>, options: MaskOptions): Step {
  const kinds = new Map(Object.entries<Mask | undefined>(masks));
  const replaced = [...kinds].flatMap(([field, kind]) =>
    kind === undefined || kind === 'drop' ? [] : [{ field, hide: hiding(coverOf[kind](options)) }],
  );
  return map((page) => {
    const batch = batchOf(page);
    const stay = batch.select([...batch.columns.keys()].filter((name) => kinds.get(name) !== 'drop'));
    const present = replaced.filter(({ field }) => batch.columns.has(field));
    return withBatch(page, stay.with(present.map(({ field, hide }) => [field, hide(batch.column(field)).vector] as const)));
  });
}

const needsKey = 'hmac needs LEADSTREAM_HMAC_KEY with at least 16 characters';

function isKey(key: string | undefined): key is string {
  return key !== undefined && key.length >= 16;
}

function keyedDigest(key: string | undefined): (text: string) => string {
  if (!isKey(key)) throw new StepError('E_STEP_CONFIG', `mask: ${needsKey}`);
  return (text) => createHmac('sha256', key).update(text).digest('hex');
}

/** What a value that is there is replaced by: a function of its text, or always the same. */
type Cover = ((text: string) => string) | string | null;

const coverOf: { readonly [K in Exclude<Mask, 'drop'>]: (options: MaskOptions) => Cover } = {
  null: () => null,
  hmac: ({ hmacKey }) => keyedDigest(hmacKey),
  last4: () => last4,
  redact: () => '[redacted]',
};

/** Hides the values of a column. Of texts that are all replaced by the same, none is looked at. */
function hiding(cover: Cover): (vector: Vector) => Mapped {
  if (typeof cover === 'function') return mapping((value) => hidden(value, cover));
  return mapping((value) => hidden(value, () => cover), { quick: (texts, row) => (texts.isEmpty(row) ? '' : cover) });
}

function hidden(value: Value, cover: (text: string) => Value): Value {
  const text = textOf(value, 'text');
  return text === null || text === '' ? value : cover(text);
}

/** Counts code points: half a pair of surrogates would be no text. */
function last4(text: string): string {
  const characters = [...text];
  const hiddenCount = characters.length > 4 ? characters.length - 4 : characters.length;
  return '*'.repeat(hiddenCount) + characters.slice(hiddenCount).join('');
}

export const maskStep = defineStep('mask', {
  summary: 'Hides the values of some fields; hmac takes its key from the environment, LEADSTREAM_HMAC_KEY.',
  config: (z) => z.record(z.string(), z.enum(maskKinds)).describe('Kind of mask by field: drop, null, hmac, last4 or redact.'),
  examples: [{ sin_number: 'drop', email: 'hmac', cell_phone: 'last4' }],
  columns: (masks, input, plan) => {
    for (const [name, kind] of Object.entries(masks)) {
      requireColumn(name, input, plan, [name], true);
      if (kind === 'hmac' && 'hmacKey' in plan && !isKey(plan.hmacKey)) plan.problem([name], needsKey);
    }
    return input.flatMap((column): readonly Column[] => {
      const kind = Object.hasOwn(masks, column.name) ? masks[column.name] : undefined;
      if (kind === 'drop') return [];
      if (kind === undefined) return [column];
      const hidden = { ...column, source: undefined };
      if (kind === 'null') return [hidden];
      const sensitivity = kind === 'last4' ? column.sensitivity : 'plain';
      return [{ ...hidden, type: 'text', cast: true, sensitivity }];
    });
  },
  open: (masks, runtime) => masking(masks, { hmacKey: runtime.hmacKey }),
});
