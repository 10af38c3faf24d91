import type { CommandContext } from './context.js';

/**
 * Notifies the webhooks of a pipeline file that it could not be loaded. Does nothing for any other failure.
 *
 * @param only Names of the pipelines to run; empty for all.
 */
export async function tellRefused(failure: unknown, only: readonly string[], { console, signal }: CommandContext): Promise<void> {
  const { notifyRefused } = await import('../index.js');
  for (const { code, message } of await notifyRefused(failure, { only, signal })) console.event('warning', { code }, `${code}: ${message}`);
}
