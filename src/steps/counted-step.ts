import { standalone, withFacts, type Step, type StepContext, type StepFacts } from '../flow/index.js';

/**
 * Makes a step for code that counts what it does with rows: separately for each read, unless the caller passed a context, which then counts for all reads.
 *
 * @param name Name of the step, for messages without a context.
 * @param more Further facts about the step.
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
