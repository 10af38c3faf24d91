import { dayTemplate, overlap, runTemplate } from '../store/index.js';
import type { PlannedSink } from './planned.js';
import type { Problem } from './references.js';

/** Reports each sink that writes over or into the output of an earlier one. */
export function refuseSharedOutputs(planned: readonly Pick<PlannedSink, 'name' | 'index' | 'output' | 'prints'>[], problem: Problem): void {
  planned.forEach(({ output, prints, index, name }) => {
    const first = planned.find((other) =>
      prints ? other.prints : output !== undefined && other.output !== undefined && collide(other.output, output),
    );
    if (!first || first.index >= index) return;
    const message = prints ? 'only one sink can write to stdout' : `to[${first.index}] writes to the same or an overlapping path`;
    problem(['to', index, name], message);
  });
}

/** Returns whether writing one absolute path would write over or into the other, on any day and through any links that exist now. */
export function collide(a: string, b: string): boolean {
  const days = ['2000-01-01', ...[a, b].flatMap((path) => path.match(/\d{4}-\d{2}-\d{2}/g) ?? [])];
  return days.some((day) => overlap(a.replaceAll(dayTemplate, day), b.replaceAll(dayTemplate, day)));
}

/** Returns whether two absolute paths of different runs collide: no two runs have the same id. `undefined` is stdout. */
export function collideAcrossRuns(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return !(a.includes(runTemplate) && b.includes(runTemplate)) && collide(a, b);
}
