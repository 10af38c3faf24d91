import type { Pipeline } from '../index.js';

/** Whether a run ended because its reader has had enough, which is no failure of a pipeline that only prints. */
export async function leftByReader(failure: unknown, pipeline: Pipeline | undefined): Promise<boolean> {
  const { ClosedPipeError } = await import('../index.js');
  return failure instanceof ClosedPipeError && (pipeline?.plan.sinks.every(({ name }) => name === 'stdout') ?? false);
}
