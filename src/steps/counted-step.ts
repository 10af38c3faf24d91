import { standalone, withFacts, type Step, type StepContext, type StepFacts } from '../flow/index.js';

/**
 * A step in code that counts what it does with rows: for each read anew, unless the caller gave a context, which counts for all.
 *
 * @param name Of the step, for messages without a context.
 * @param more What else is known of it.
 */
export function counting<In, Out>(
  name: string,
  given: StepContext | undefined,
  columns: StepFacts['columns'],
  made: (context: StepContext) => Step<In, Out>,
  more: Pick<StepFacts, 'blocking'> = {},
): Step<In, Out> {
  const context = given ?? standalone(name);
  return withFacts(made(context), {
    at: context.at,
    columns,
    ...more,
    ...(given === undefined && { opened: (reading) => made(reading.counted(name)) }),
  });
}
