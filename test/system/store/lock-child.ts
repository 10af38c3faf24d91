/**
 * A run in a process of its own: takes and releases locks as its parent says, by messages.
 *
 * `{ lock: path, at }` -> `'won'` or the code of the failure, at that time (ms) so that several start together; `{ release: true }` -> `'released'`.
 */
import { setTimeout } from 'node:timers/promises';
import { LeadstreamError } from '../../../src/core/errors.js';
import { lockOutputs, type RunLock } from '../../../src/store/index.js';

export type Order = { readonly lock: string; readonly at: number } | { readonly release: true };

let held: RunLock | undefined;

async function obey(order: Order): Promise<string> {
  if ('release' in order) {
    await held?.release();
    held = undefined;
    return 'released';
  }
  await setTimeout(Math.max(0, order.at - Date.now() - 1));
  while (Date.now() < order.at);
  try {
    held = await lockOutputs([order.lock], { runId: `child-${process.pid}` });
    return 'won';
  } catch (failure) {
    return failure instanceof LeadstreamError ? `${failure.code} ${failure.message}` : String(failure);
  }
}

process.on('message', (order: Order) => void obey(order).then((answer) => process.send?.(answer)));
process.send?.('ready');
