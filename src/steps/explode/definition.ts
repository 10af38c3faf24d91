import { columnName } from '../fields.js';
import { nothingKept } from '../nothing-kept.js';
import { defineStep } from '../step.js';
import { explodedColumns, exploding } from './explode.js';

export const explodeStep = defineStep('explode', {
  summary: 'Makes a row for every element of a field that holds a list; the other fields are repeated.',
  config: (z) =>
    z.strictObject({
      field: z.string().min(1).describe('Field that holds the list, and then the element.'),
      separator: z
        .string()
        .min(1)
        .optional()
        .describe(
          'Text between elements, which are trimmed; blank ones are left out. Default: the field holds a JSON array, whose strings are used as they are and other values as their JSON text.',
        ),
      empty: z
        .enum(['keep', 'drop'])
        .default('keep')
        .describe("What happens to a row whose list is empty: keep keeps it with null as the element, drop drops it, like SQL's unnest."),
      position: columnName().optional().describe('Name of an extra field for the number of the element, from 1. Default: none.'),
      on_error: z
        .enum(['reject', 'null', 'fail'])
        .optional()
        .describe(
          "What happens to a row whose field does not hold a JSON array; with null the element is null. Default: the pipeline's on_error.",
        ),
    }),
  examples: [{ field: 'meta' }, { field: 'tag_string_local', separator: ',', empty: 'drop', position: 'tag_no' }],
  addsRows: () => true,
  columns: (config, input, plan) => explodedColumns(config, input, plan),
  open: ({ on_error, ...config }, runtime) => exploding(config.field, { ...config, onError: on_error ?? runtime.onError }, runtime),
  remark: (_, tally, arrived) => nothingKept(tally, arrived),
});
