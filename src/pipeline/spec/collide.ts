import { overlap, dayTemplate } from '../../store/index.js';
import type { Problem } from './references.js';

/** What a sink writes to. */
interface Output {
  readonly name: string;
  /** Place in the list of the file, from 0. */
  readonly index: number;
  /** Absolute path, its day and run in braces. None for one that prints, or publishes elsewhere. */
  readonly output: string | undefined;
  readonly prints: boolean;
}

/** Reports each sink that writes over or into what an earlier one writes. */
export function refuseSharedOutputs(planned: readonly Output[], problem: Problem): void {
  planned.forEach(({ output, prints, index, name }) => {
    const first = planned.find((other) =>
      prints ? other.prints : output !== undefined && other.output !== undefined && collide(other.output, output),
    );
    if (!first || first.index >= index) return;
    const message = prints ? 'only one sink can write to stdout' : `to[${first.index}] writes to the same path, or one within`;
    problem(['to', index, name], message);
  });
}

/** Whether writing one absolute path would write over or into the other, on any day and by whatever links lead there now. */
export function collide(a: string, b: string): boolean {
  const days = [sampleDay, ...[a, b].flatMap((path) => path.match(/\d{4}-\d{2}-\d{2}/g) ?? [])];
  return collideByName(a, b) || days.some((day) => overlap(onDay(a, day), onDay(b, day)));
}

function collideByName(a: string, b: string): boolean {
  const others = b.split('/');
  return a
    .split('/')
    .slice(0, others.length)
    .every((name, index) => meet(name, others[index] ?? ''));
}

/** Whether two names are the same when the day in each is any. */
function meet(a: string, b: string): boolean {
  return a === b || patternOf(a)?.test(onDay(b, sampleDay)) === true || patternOf(b)?.test(onDay(a, sampleDay)) === true;
}

function patternOf(name: string): RegExp | undefined {
  if (!name.includes(dayTemplate)) return undefined;
  return new RegExp(`^${name.split(dayTemplate).map(escaped).join('\\d{4}-\\d{2}-\\d{2}')}$`);
}

const sampleDay = '2000-01-01';

function onDay(path: string, day: string): string {
  return path.replaceAll(dayTemplate, day);
}

/** A text that a pattern takes literally. */
export function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
