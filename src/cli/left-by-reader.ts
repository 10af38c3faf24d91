import type { Pipeline } from '../index.js';

/** Whether a run ended because its reader had had enough, which is not a failure of a pipeline that only prints. */
export async function leftByReader(failure: unknown, pipeline: Pipeline | undefined): Promise<boolean> {
  const { ClosedPipeError } = await import('../index.js');
  return failure instanceof ClosedPipeError && (pipeline?.plan.sinks.every(({ name }) => name === 'stdout') ?? false);
}
