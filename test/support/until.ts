import { setTimeout } from 'node:timers/promises';

/** Resolves when a condition holds, checking it repeatedly. If it never does, the test times out. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await setTimeout(2);
}
