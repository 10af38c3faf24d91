import type { CommandContext } from './context.js';

/**
 * Tells the webhooks of a pipeline file that it could not be loaded; nobody, of another failure.
 *
 * @param only Names of the pipelines that were to run; none for all.
 */
export async function tellRefused(failure: unknown, only: readonly string[], { console, signal }: CommandContext): Promise<void> {
  const { notifyRefused } = await import('../index.js');
  for (const { code, message } of await notifyRefused(failure, { only, signal })) console.event('warning', { code }, `${code}: ${message}`);
}
