import type { z } from 'zod';
import { zod } from '../../core/index.js';
import { getIn, setIn, type Issue } from '../../options/index.js';
import type { Path } from './document.js';
import { spelledOut } from './spelled-out.js';

/** Which of the fitting values to use: a problem at both ends of a range exists for any value. */
export type End = 'least' | 'greatest';

/** Replaces unknown values, whose references cannot be resolved, by values that fit, so that everything around them can be checked. */
export class StandIns {
  readonly #used = new Set<Path>();
  /** By path of an unknown value: messages that hold for any value, since the values around it allow none. */
  readonly #certain = new Map<string, readonly string[]>();
  #isChoice = false;

  /** @param unknown Paths of the unknown values. */
  constructor(
    private readonly unknown: readonly Path[],
    private readonly end: End,
  ) {}

  /** Returns whether the value at a path is unknown. */
  has(path: Path): boolean {
    return this.unknown.some((each) => isWithin(each, path) && each.length === path.length);
  }

  /** Returns whether the value at a path, or one within it, is unknown. */
  within(path: Path): boolean {
    return this.unknown.some((each) => isWithin(each, path));
  }

  /** Returns whether the value at a path, or one within it, was replaced. */
  usedIn(path: Path): boolean {
    return [...this.#used].some((each) => isWithin(each, path));
  }

  /** Whether other values would have fitted on which something may depend, such as another number. */
  get isChoice(): boolean {
    return this.#isChoice;
  }

  /**
   * Replaces unknown values that do not fit.
   *
   * @param at Path of the value.
   */
  fill(schema: z.ZodType, value: unknown, at: Path): unknown {
    let filled = value;
    // A value may fit better with those found for the others; few depend on each other.
    for (let round = 0; round < 3; round += 1) {
      const before = filled;
      filled = this.#filled(schema, before, at);
      if (filled === before) break;
    }
    return filled;
  }

  #filled(schema: z.ZodType, value: unknown, at: Path): unknown {
    return this.unknown
      .filter((each) => isWithin(each, at))
      .reduce((filled, each) => {
        const path = each.slice(at.length);
        const { judge, depth } = judgeOf(schema, path);
        const issuesIn = (part: unknown) => judge.safeParse(spelledOut(judge, part)).error?.issues ?? [];
        const fitting = this.#fitting(getIn(filled, path.slice(0, depth)), path.slice(depth), each, issuesIn);
        if (fitting === undefined) return filled;
        this.#used.add(each);
        if (!isFixed(fitting)) this.#isChoice = true;
        return withIn(filled, path, fitting);
      }, value);
  }

  /** Returns whether an issue may be caused by an unknown value. A text never fits in place of a list or map. */
  explains(issue: Issue, at: Path): boolean {
    const path = [...at, ...keysOf(issue)];
    if (issue.code === 'invalid_union') {
      return issue.errors.some((alternative) => alternative.every((inner) => this.explains(inner, path)));
    }
    if (!this.has(path) || this.#certain.get(path.join('.'))?.includes(issue.message)) return false;
    return !(issue.code === 'invalid_type' && ['array', 'object', 'record'].includes(issue.expected));
  }

  /**
   * Returns a value that fits in place of one that does not, or one that leaves fewer issues in what is checked together with it; `undefined` if none is known.
   *
   * @param value What is checked together, including the unknown value at `path`.
   * @param place Path of the unknown value in the document.
   */
  #fitting(value: unknown, path: Path, place: Path, issuesIn: (value: unknown) => readonly Issue[]): string | undefined {
    const text = getIn(value, path);
    const all = issuesIn(value);
    this.#certain.delete(place.join('.'));
    if (typeof text !== 'string' || all.length === 0) return undefined;
    const at = (issues: readonly Issue[]) => issues.flatMap((issue) => issuesAt(issue, path));
    const misfit = at(all);
    const choices = at(issuesIn(withIn(value, path, impossible)));
    const candidates = [...candidatesFor(text, choices, this.end), ...namesIn(value)];
    const tried = new Set<string>();
    let fitting: string | undefined;
    let refused: { readonly candidate: string; readonly why: readonly Issue[] } | undefined;
    let fewest = misfit.length > 0 ? Infinity : all.length;
    for (let candidate = candidates.shift(); candidate !== undefined && fewest > 0; candidate = candidates.shift()) {
      tried.add(candidate);
      const issues = issuesIn(withIn(value, path, candidate));
      const left = at(issues);
      if (left.length === 0 && issues.length < fewest) {
        fitting = candidate;
        fewest = issues.length;
      }
      if (left.every(({ code }) => code === 'custom')) refused ??= { candidate, why: left };
      candidates.unshift(...left.flatMap(boundOf).filter((bound) => !tried.has(bound)));
    }
    if (fitting !== undefined || refused === undefined || misfit.length === 0) return fitting;
    this.#certain.set(
      place.join('.'),
      refused.why.map(({ message }) => message),
    );
    return refused.candidate;
  }
}

/** Returns the part of a schema that checks a value, including everything checked together with it, and the depth in the path at which it starts. */
function judgeOf(schema: z.ZodType, path: Path, depth = 0): { readonly judge: z.ZodType; readonly depth: number } {
  const { ZodType, ZodObject, ZodOptional, ZodDefault, ZodPrefault } = zod();
  const bare = schema instanceof ZodOptional || schema instanceof ZodDefault || schema instanceof ZodPrefault ? schema.unwrap() : schema;
  const isSplit = bare instanceof ZodObject && (bare.def.checks ?? []).length === 0;
  const inner: unknown = isSplit ? getIn(bare.shape, path.slice(depth, depth + 1)) : undefined;
  return inner instanceof ZodType ? judgeOf(inner, path, depth + 1) : { judge: schema, depth };
}

/** Returns texts that may fit, the best first. */
function candidatesFor(text: string, misfit: readonly Issue[], end: End): ReadonlySet<string> {
  const word = text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_');
  const choices = misfit.flatMap((issue) => (issue.code === 'invalid_value' ? issue.values.map(String) : []));
  const small = ['0', '1', '0%', '0ms', '1ms', '1/h', '1MB', 'false'];
  const great = ['1000000000', '1000%', '100%', '10000h', '35s', '1000000/s', '1000GB', 'true'];
  const ranged = end === 'least' ? [...choices, ...small, ...great] : [...choices.toReversed(), ...great, ...small];
  const name = text.startsWith(named) ? text : named + word.replaceAll(/^_|_$/g, '');
  return new Set([name, ...fixed, ...ranged]);
}

/** Returns the keys of all maps, and the texts of all lists, since a value may have to name one of them. */
function namesIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const isList = Array.isArray(value);
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(isList ? [] : [key]),
    ...(isList && typeof inner === 'string' ? [inner] : namesIn(inner)),
  ]);
}

/** A value that is not among the choices of any list. */
const impossible = '${}';

/** Prefix of the name that replaces an unknown value. */
const named = 'unset_';

/** Values on which nothing depends. */
const fixed: readonly string[] = ['http://unset.invalid', '/unset', ';', '0640', '2000-01-01T00:00:00Z'];

function isFixed(text: string): boolean {
  return text.startsWith(named) || fixed.includes(text);
}

/** Returns the issues with the value at a path, including those of alternatives of a union. */
function issuesAt(issue: Issue, path: Path): readonly Issue[] {
  const keys = keysOf(issue);
  if (!isWithin(path, keys)) return [];
  const rest = path.slice(keys.length);
  const own = rest.length === 0 ? [issue] : [];
  return issue.code === 'invalid_union' ? [...own, ...issue.errors.flat().flatMap((inner) => issuesAt(inner, rest))] : own;
}

function boundOf(issue: Issue): readonly string[] {
  if (issue.code === 'too_big') return [String(issue.maximum)];
  return issue.code === 'too_small' ? [String(issue.minimum)] : [];
}

function keysOf({ path }: Issue): Path {
  return path.map((part) => (typeof part === 'symbol' ? String(part) : part));
}

function isWithin(path: Path, around: Path): boolean {
  return around.every((part, index) => part === path[index]);
}

function withIn(value: unknown, path: Path, to: unknown): unknown {
  if (path.length === 0) return to;
  const copy = structuredClone(value);
  setIn(copy, path, to);
  return copy;
}
