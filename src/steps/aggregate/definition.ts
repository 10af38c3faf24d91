import type { Column, DeclaredType } from '../../core/index.js';
import { blocking } from '../../flow/index.js';
import type { Mapped, RecordBatch } from '../../vector/index.js';
import type { Expression } from '../expression/expression.js';
import { expressions } from '../expression/loaded.js';
import { outcomesOf } from '../on-error.js';
import { defaultMemory, memory, plainCast, spilledBeyond } from '../../engine/index.js';
import { columnName, refuseRepeats, requireColumn, requireDuckdb } from '../fields.js';
import { defineFileStep, type StepRuntime } from '../step.js';
import { Aggregator, type AggregatePlan } from './aggregator.js';
import { aggregatesListed, computationOf, planCall } from './calls.js';

export const aggregateStep = defineFileStep('aggregate', {
  summary: 'Turns each group of rows into one row with counts, sums and other results; groups are sorted by their fields.',
  config: (z) =>
    z.strictObject({
      by: z
        .array(z.string().min(1))
        .optional()
        .describe(
          'Fields to group by, compared by their declared types; null is a group of its own. Groups are sorted by these fields, null last. Default: none, which makes one row of all rows, even if there are none.',
        ),
      compute: z
        .record(columnName(), z.string().min(1))
        .refine((results) => Object.keys(results).length > 0, 'name at least one result, like rows: count()')
        .describe(
          `Result by new field, one call each: ${aggregatesListed}. The argument is a field, read by its declared type, or an expression (CEL), and null is ignored; the condition of count is an expression.`,
        ),
      memory: memory().describe('Memory for groups; the rest is spilled to files in the state folder.'),
      on_error: z
        .enum(['reject', 'null', 'fail'])
        .optional()
        .describe(
          "What happens to a row with a value that does not cast or an expression that fails; with null it counts, with null as that value. Default: the pipeline's on_error.",
        ),
    }),
  blocking: true,
  examples: [
    {
      by: ['campaign_id'],
      compute: { leads: 'count()', sold: "count(lead_status == 'sold')", first: 'min(timestamp)', emails: 'count_distinct(email)' },
    },
    { compute: { leads: 'count()', mean_age: 'avg(age)' }, memory: '64MB' },
  ],
  holds: ({ memory: bytes }) => spilledBeyond(bytes),
  columns: ({ by = [], compute }, input, plan) => {
    requireDuckdb(plan);
    refuseRepeats(by, plan, ['by']);
    const keys = by.flatMap((name, index): readonly Column[] => {
      const column = requireColumn(name, input, plan, ['by', index]);
      return column === undefined ? [] : [{ ...column, cast: true }];
    });
    const results = Object.entries(compute).map(([name, text]): Column => {
      if (by.includes(name)) plan.problem(['compute', name], `'${name}' is a field under by; give the result another name`, true);
      return planCall(name, text, input, plan) ?? { name, original: name, type: 'text', cast: true, sensitivity: 'plain' };
    });
    return [...new Map([...keys, ...results].map((column) => [column.name, column])).values()];
  },
  open: ({ by = [], compute, memory: bytes = defaultMemory, on_error }, runtime) => {
    const plan = opened(by, compute, runtime);
    const options = { memory: bytes, folder: runtime.scratch, onError: on_error ?? runtime.onError };
    return blocking(runtime, () => new Aggregator(plan, options, runtime));
  },
});

function opened(by: readonly string[], calls: Readonly<Record<string, string>>, runtime: StepRuntime): AggregatePlan {
  const types = new Map(runtime.input.map(({ name, type }) => [name, type]));
  const fields = new Map<string, DeclaredType>();
  const compiled = new Map<string, Expression>();

  function fieldOf(field: string) {
    const type = types.get(field) ?? 'text';
    fields.set(field, type);
    return { field, type };
  }

  function typeOf(argument: string): DeclaredType {
    if (types.has(argument)) return fieldOf(argument).type;
    const expression = compiled.get(argument) ?? expressions().openExpression(argument, runtime);
    compiled.set(argument, expression);
    return expression.type;
  }

  return {
    by: by.map(fieldOf),
    compute: Object.entries(calls).map(([name, call]) => computationOf(name, call, typeOf)),
    read: reading(fields, compiled),
  };
}

/** Returns a function that reads the plain values of fields and expressions. */
function reading(
  fields: ReadonlyMap<string, DeclaredType>,
  expressions: ReadonlyMap<string, Expression>,
): (batch: RecordBatch) => ReadonlyMap<string, Mapped> {
  const casts = Array.from(fields, ([name, type]) => ({ name, cast: plainCast(type) }));
  const evaluate = outcomesOf(expressions);
  const plain = new Map(Array.from(expressions, ([name, { type }]) => [name, plainCast(type)]));

  return (batch) => {
    const read = new Map<string, Mapped>();
    for (const { name, cast } of casts) read.set(name, cast(batch.columnOrNulls(name)));
    for (const [name, outcome] of evaluate(batch)) {
      const cast = plain.get(name);
      if (cast) read.set(name, both(outcome, cast(outcome.vector)));
    }
    return read;
  };
}

/** Combines the results of two consecutive mappings. */
function both(first: Mapped, second: Mapped): Mapped {
  if (!first.unfit) return second;
  return { vector: second.vector, unfit: (row) => first.unfit?.(row) ?? second.unfit?.(row) };
}
