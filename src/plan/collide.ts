import { overlap, dayTemplate } from '../store/index.js';
import type { Problem } from './references.js';

/** The output of a sink. */
interface Output {
  readonly name: string;
  /** Index in the list of the file, from 0. */
  readonly index: number;
  /** Absolute path, with day and run in braces; `undefined` if it prints, or publishes elsewhere. */
  readonly output: string | undefined;
  readonly prints: boolean;
}

/** Reports each sink that writes over or into the output of an earlier one. */
export function refuseSharedOutputs(planned: readonly Output[], problem: Problem): void {
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

/** Returns whether two names are the same if any day in them matches any other. */
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

/** Escapes a text for use in a regular expression. */
function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
