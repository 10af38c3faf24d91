import { createHmac } from 'node:crypto';
import { map } from 'rxjs';
import type { Collection } from '../../collections/index.js';
import { schema, textOf, type Column, type Row, type Value, StepError } from '../../core/index.js';
import { mapping, RecordBatch, type Mapped, type Vector } from '../../vector/index.js';
import { batchOf, withBatch, type ConfigPath, type Step } from '../../flow/index.js';
import { checkArguments, usually } from '../../options/index.js';
import { type WithoutUndefined, requireColumn } from '../fields.js';
import { builtInStep, stepOf, type PlanContext } from '../step.js';

const maskKinds = ['drop', 'null', 'hmac', 'last4', 'redact'] as const;

const defaultMask = 'drop';

/**
 * How a field is hidden: `drop` removes the column, `null` empties it, `hmac` replaces a value by its keyed digest (HMAC-SHA-256
 * in hexadecimal), `last4` replaces all but the last four characters by stars (all, in a text of up to four), `redact` leaves a fixed word.
 */
export type Mask = (typeof maskKinds)[number];

/** A row type after masking: a field that may be dropped is gone, one that may be hidden has its mask's values. Unknown fields stay so. */
export type Masked<T, M> = string extends keyof T
  ? Row
  : {
      readonly [F in keyof T as F extends keyof M ? ('drop' extends M[F] ? never : F) : F]: F extends keyof M
        ? MaskedValue<T[F], M[F]>
        : T[F];
    };

type MaskedValue<V, K> = K extends undefined ? V : K extends 'null' ? null : string | Extract<V, null>;

type Masks<T> = Readonly<Partial<Record<keyof T & string, Mask>>>;

/** Options of `mask` besides the fields. */
export interface MaskOptions {
  /** Secret key for `hmac`, at least 16 characters; `undefined`, such as an unset variable, means none. */
  readonly hmacKey?: string | undefined;
}

const parameters = schema((z) => z.strictObject({ masks: z.record(z.string(), z.enum(maskKinds)) }));

/**
 * Hides the values of some fields. Empty and missing values stay, so that completeness can still be judged.
 *
 * @param masks Kind of mask by field.
 * @throws {StepError} `E_STEP_CONFIG` for `hmac` without a key and for invalid arguments; `E_STEP_FIELD` if no row of a non-empty page has
 * a named field, since the intended field would stay in clear text.
 *
 * @example
 * service.leads.pipe(mask({ sin_number: 'drop', cell_phone: 'last4' }));
 * // { sin_number: '046454286', cell_phone: '2125550142' }  ->  { cell_phone: '******0142' }
 */
export function mask<T extends Row, const M extends Masks<NoInfer<T>> = Masks<T>>(
  masks: M & WithoutUndefined<M> & { readonly [F in Exclude<keyof M, keyof NoInfer<T>>]: never },
  options: MaskOptions = {},
): Step<T, Masked<T, M>> {
  checkArguments('mask', parameters, { masks });
  return stepOf(maskStep, { preset: undefined, as: defaultMask, masks }, Object.keys(masks), undefined, { hmacKey: options.hmacKey });
}

/**
 * Returns masks for the personal fields of a collection, for `mask`, which may be combined with others. @param as Default `drop`.
 *
 * @example
 * service.leads.pipe(mask({ ...personalMasks(collections.leads), email: 'hmac' }, { hmacKey }));
 */
export function personalMasks<C extends Collection, const As extends Mask = typeof defaultMask>(
  collection: C,
  as?: As,
): { readonly [K in PersonalOf<C>]: As } {
  const personal = Object.entries(collection.fields).filter(([, { sensitivity }]) => sensitivity === 'personal');
  return Object.fromEntries(personal.map(([name]) => [name, as ?? defaultMask])) as { readonly [K in PersonalOf<C>]: As };
}

type PersonalOf<C extends Collection> = {
  [K in keyof C['fields'] & string]: C['fields'][K] extends { readonly sensitivity: 'personal' } ? K : never;
}[keyof C['fields'] & string];

const needsKey = 'hmac needs LEADSTREAM_HMAC_KEY with at least 16 characters';

function isKey(key: string | undefined): key is string {
  return key !== undefined && key.length >= 16;
}

/** Hides a column's values. Without a function of the text, texts are not even read. */
function hiding(kind: Exclude<Mask, 'drop'>, key: string): (vector: Vector) => Mapped {
  if (kind === 'hmac' || kind === 'last4') {
    const digest = (text: string) => createHmac('sha256', key).update(text).digest('hex');
    return mapping((value) => hidden(value, kind === 'hmac' ? digest : last4));
  }
  const cover = kind === 'null' ? null : '[redacted]';
  return mapping((value) => hidden(value, () => cover), { quick: (texts, row) => (texts.isEmpty(row) ? '' : cover) });
}

function hidden(value: Value, cover: (text: string) => Value): Value {
  const text = textOf(value, 'text');
  return text === null || text === '' ? value : cover(text);
}

/** Counts code points: half a surrogate pair is not valid text. */
function last4(text: string): string {
  const characters = [...text];
  const hiddenCount = characters.length > 4 ? characters.length - 4 : characters.length;
  return '*'.repeat(hiddenCount) + characters.slice(hiddenCount).join('');
}

export interface MaskConfig {
  readonly preset: 'personal' | undefined;
  readonly as: Mask;
  readonly masks: Readonly<Record<string, Mask | 'keep'>>;
}

const config = schema((z) =>
  z
    .object({
      preset: z
        .literal('personal')
        .optional()
        .describe(
          'Masks all fields that are declared personal at this step, including joined and derived ones, what is joined or computed with a revealed secret, and undeclared fields of the service.',
        ),
      as: usually(z.enum(maskKinds), defaultMask).describe('Kind of mask for the fields of the preset.'),
    })
    .catchall(z.enum([...maskKinds, 'keep']))
    .describe(
      'Kind of mask by field: drop, null, hmac, last4 or redact. With preset: personal, a field named here has its own kind, and keep leaves it as it is.',
    )
    .transform(({ preset, as, ...masks }, context): MaskConfig => {
      if (as !== undefined && preset === undefined)
        context.addIssue({ code: 'custom', path: ['as'], message: "'as' needs preset: personal; rename a field of this name first" });
      return { preset, as: as ?? defaultMask, masks };
    }),
);

export const maskStep = builtInStep('mask', {
  summary: 'Hides the values of some fields, or of all that are personal; hmac takes its key from LEADSTREAM_HMAC_KEY in the environment.',
  config,
  examples: [
    { sin_number: 'drop', email: 'hmac', cell_phone: 'last4' },
    { preset: 'personal', as: 'redact', zipcode: 'keep', email: 'hmac' },
  ],
  columns: (config, input, plan) => {
    checkMasks(config, input, plan);
    return input.flatMap((column): readonly Column[] => {
      const kind = kindOf(config, column.name, isPersonal(column));
      if (kind === undefined || kind === 'drop') return kind === undefined ? [column] : [];
      const hidden = { ...column, source: undefined, origin: column.origin && `${column.origin}, masked by ${kind}` };
      if (kind === 'null') return [hidden];
      return [{ ...hidden, type: 'text', cast: true, sensitivity: kind === 'last4' ? column.sensitivity : 'plain' }];
    });
  },
  open: (config, { input, hmacKey = '' }) => {
    const kinds = [...(config.preset ? [config.as] : []), ...Object.values(config.masks)];
    if (kinds.includes('hmac') && !isKey(hmacKey))
      throw new StepError('E_STEP_CONFIG', 'mask: hmac needs the option hmacKey, with at least 16 characters');
    const personal = new Map(input?.map((column) => [column.name, isPersonal(column)]));
    const hidings = new Map<string, (vector: Vector) => Mapped>();
    return map((page) => {
      const batch = batchOf(page);
      const columns = new Map(batch.columns);
      for (const [name, vector] of batch.columns) {
        // A column that is not in the plan is undeclared, so it may be personal.
        const kind = kindOf(config, name, personal.get(name) ?? true);
        if (kind === 'drop') columns.delete(name);
        if (kind === undefined || kind === 'drop') continue;
        const hide = hidings.get(name) ?? hiding(kind, hmacKey);
        hidings.set(name, hide);
        columns.set(name, hide(vector).vector);
      }
      return withBatch(page, new RecordBatch(batch.length, columns));
    });
  },
});

function kindOf({ preset, as, masks }: MaskConfig, name: string, personal: boolean): Mask | undefined {
  const named = Object.hasOwn(masks, name) ? masks[name] : undefined;
  if (named !== undefined) return named === 'keep' ? undefined : named;
  return preset !== undefined && personal ? as : undefined;
}

/** A value computed from a revealed secret may come from a personal field, too: `secret` hides `personal`. */
function isPersonal({ undeclared, sensitivity, source }: Column): boolean {
  return undeclared === true || sensitivity === 'personal' || (sensitivity === 'secret' && source === undefined);
}

function checkMasks({ preset, as, masks }: MaskConfig, input: readonly Column[], plan: PlanContext): void {
  const checkKey = (kind: Mask | 'keep', path: ConfigPath) => {
    if (kind !== 'hmac' || !('hmacKey' in plan) || isKey(plan.hmacKey)) return;
    // A key that is set but invalid is wrong in every environment.
    if (plan.hmacKey) plan.problem(path, needsKey);
    else plan.unset?.(path, 'LEADSTREAM_HMAC_KEY', needsKey);
  };
  for (const [name, kind] of Object.entries(masks)) {
    requireColumn(name, input, plan, [name], true);
    checkKey(kind, [name]);
    if (kind === 'keep' && !preset) plan.problem([name], 'keep needs preset: personal; without it, leave the field out');
  }
  if (!preset) return;
  checkKey(as, ['as']);
  if (!input.some(isPersonal)) plan.problem(['preset'], 'no field here is declared personal; name the fields, or leave the step out');
}
