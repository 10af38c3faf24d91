import { setTimeout } from 'node:timers/promises';

/** Resolves when a condition holds, which it asks again and again. What never comes is for the test's own limit of time. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await setTimeout(2);
}
