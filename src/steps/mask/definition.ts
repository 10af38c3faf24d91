import { schema, type Column } from '../../core/index.js';
import type { ConfigPath } from '../../flow/index.js';
import { requireColumn } from '../fields.js';
import { defineStep, type PlanContext } from '../step.js';
import { usually } from '../../options/index.js';
import { defaultMask, isKey, masked, masking, maskKinds, needsKey, requireKey, type Mask } from './mask.js';

/** What a file may request for a field: a mask or, with a preset, to keep it as it is. */
export type Wanted = Mask | 'keep';

export interface MaskConfig {
  readonly preset: 'personal' | undefined;
  /** Kind of mask for the fields of the preset. */
  readonly as: Mask;
  /** By field. */
  readonly masks: Readonly<Record<string, Wanted>>;
}

const config = schema((z) =>
  z
    .object({
      preset: z
        .literal('personal')
        .optional()
        .describe(
          'Masks all fields that are declared personal at this step, including joined and derived ones, and undeclared fields of the service.',
        ),
      as: usually(z.enum(maskKinds), defaultMask).describe('Kind of mask for the fields of the preset.'),
    })
    .catchall(z.enum([...maskKinds, 'keep']))
    .describe(
      'Kind of mask by field: drop, null, hmac, last4 or redact. With preset: personal, a field named here has its own kind, and keep leaves it as it is.',
    )
    .transform(({ preset, as, ...masks }, context): MaskConfig => {
      if (as !== undefined && preset === undefined)
        context.addIssue({
          code: 'custom',
          path: ['as'],
          message: "'as' needs preset: personal; rename a field of this name first",
        });
      return { preset, as: as ?? defaultMask, masks };
    }),
);

export const maskStep = defineStep('mask', {
  summary: 'Hides the values of some fields, or of all that are personal; hmac takes its key from LEADSTREAM_HMAC_KEY in the environment.',
  config,
  examples: [
    { sin_number: 'drop', email: 'hmac', cell_phone: 'last4' },
    { preset: 'personal', as: 'redact', zipcode: 'keep', email: 'hmac' },
  ],
  columns: (masks, input, plan) => {
    checkMasks(masks, input, plan);
    return input.flatMap((column) => masked(column, kindOf(masks, column.name, column.undeclared ? 'personal' : column.sensitivity)));
  },
  open: (masks, runtime) => {
    requireKey([...(masks.preset ? [masks.as] : []), ...Object.values(masks.masks).filter((kind) => kind !== 'keep')], runtime);
    const sensitivities = new Map(runtime.input.map(({ name, sensitivity }) => [name, sensitivity]));
    // A column missing from the plan is one that the service returns undeclared: it may be personal.
    return masking((name) => kindOf(masks, name, sensitivities.get(name) ?? 'personal'), runtime);
  },
});

function kindOf({ preset, as, masks }: MaskConfig, name: string, sensitivity: Column['sensitivity']): Mask | undefined {
  const named = Object.hasOwn(masks, name) ? masks[name] : undefined;
  if (named !== undefined) return named === 'keep' ? undefined : named;
  return preset !== undefined && sensitivity === 'personal' ? as : undefined;
}

function checkMasks({ preset, as, masks }: MaskConfig, input: readonly Column[], plan: PlanContext): void {
  const keyMissing = 'hmacKey' in plan && !isKey(plan.hmacKey);
  // A key that is set but invalid is wrong in every environment.
  const refuse = (path: ConfigPath) => (plan.hmacKey ? plan.problem(path, needsKey) : plan.unset(path, 'LEADSTREAM_HMAC_KEY', needsKey));
  for (const [name, kind] of Object.entries(masks)) {
    requireColumn(name, input, plan, [name], true);
    if (kind === 'hmac' && keyMissing) refuse([name]);
    if (kind === 'keep' && !preset) plan.problem([name], 'keep needs preset: personal; without it, leave the field out');
  }
  if (!preset) return;
  if (as === 'hmac' && keyMissing) refuse(['as']);
  if (!input.some(({ sensitivity }) => sensitivity === 'personal'))
    plan.problem(['preset'], 'no field here is declared personal; name the fields, or leave the step out');
}
