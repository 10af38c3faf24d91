import type { z } from 'zod';
import { schema, StepError, unknownName } from '../core/index.js';

type Issue = z.core.$ZodIssue;
type Path = readonly (string | number)[];

export interface SchemaProblem {
  readonly path: Path;
  readonly message: string;
  readonly onKey: boolean;
}

/** Returns all problems that a schema finds in a value, in the schema's own words or zod's, which show no value. */
export function schemaProblems(wanted: z.ZodType, value: unknown, at: Path = []): readonly SchemaProblem[] {
  const { error } = wanted.safeParse(value, { reportInput: true, error: wordsFor });
  const issues = error ? error.issues.flatMap(ofAlternativeMeant) : [];
  // An empty text is also too short for a list.
  const wrongKind = new Set(issues.filter(({ code }) => code === 'invalid_type').map(({ path }) => path.join('.')));
  return issues.flatMap((issue) => (issue.code === 'too_small' && wrongKind.has(issue.path.join('.')) ? [] : problemsOf(issue, at)));
}

/** Returns a value as a schema parses it. @param refuse Makes the error of a value with problems. */
export function parsedBy<T>(wanted: z.ZodType<T>, value: unknown, refuse: (problems: string) => Error): T {
  const problems = schemaProblems(wanted, value);
  if (problems.length > 0) throw refuse(problems.map(({ message }) => message).join('; '));
  return wanted.parse(value);
}

/** Checks the named arguments of a function that creates a step. @throws {StepError} `E_STEP_CONFIG`. */
export function checkArguments<T>(at: string, wanted: () => z.ZodType<T>, given: unknown): T {
  return parsedBy(wanted(), given, (problems) => new StepError('E_STEP_CONFIG', `${at}: ${problems}`));
}

export const callback = schema((z) => z.custom<unknown>((value) => typeof value === 'function', 'must be a function'));

/** Returns one line per unknown key; other issues keep zod's words. */
function wordsFor(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== 'unrecognized_keys') return undefined;
  const known = Object.keys(getIn(issue.inst, ['_zod', 'def', 'shape']) ?? {});
  return issue.keys.map((key) => unknownName('key', key, known)).join('\n');
}

function problemsOf(issue: Issue, at: Path): readonly SchemaProblem[] {
  const path = [...at, ...issue.path.map((part) => (typeof part === 'number' ? part : String(part)))];
  const name = nameOf(path);
  if (issue.code === 'unrecognized_keys') {
    const lines = issue.message.split('\n');
    return issue.keys.map((key, index) => ({ path: [...path, key], message: lines[index] ?? '', onKey: true }));
  }
  if (issue.code === 'invalid_key')
    return [{ path, message: `'${String(path.at(-1))}': ${issue.issues.map(({ message }) => message).join(', ')}`, onKey: true }];
  const isDefault = issue.message.startsWith('Invalid ');
  if (isDefault && issue.input === undefined && typeof path.at(-1) === 'string')
    return [{ path, message: `'${name}' is missing`, onKey: false }];
  const isSplit = issue.code === 'invalid_union' && issue.message === 'Invalid input';
  const alternatives = isSplit ? issue.errors.flat().map(({ message }) => message) : [issue.message];
  const message = [...new Set(alternatives.map((text) => text.replace(/, received .*$/, '')))].join(', or ');
  const isSentence = issue.code === 'custom' && !/^(?:must|needs|it) /.test(message);
  return [{ path, message: name === '' || isSentence ? message : `${name}: ${message}`, onKey: false }];
}

function nameOf(path: Path): string {
  const [key, ...indexes] = path.slice(path.findLastIndex((part) => typeof part === 'string'));
  return typeof key === 'string' ? `${key}${indexes.map((index) => `[${index}]`).join('')}` : '';
}

/** Returns for a union without words of its own the issues of the alternative of the right kind with the fewest issues. */
function ofAlternativeMeant(issue: Issue): readonly Issue[] {
  if (issue.code !== 'invalid_union' || issue.message !== 'Invalid input') return [issue];
  const [deep] = issue.errors
    .filter((issues) => issues.some(({ code, path }) => path.length > 0 || code === 'unrecognized_keys'))
    .sort((a, b) => a.length - b.length);
  return deep?.flatMap((inner) => ofAlternativeMeant({ ...inner, path: [...issue.path, ...inner.path] })) ?? [issue];
}

export function getIn(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined), value);
}

export function setIn(value: unknown, path: readonly PropertyKey[], to: unknown): void {
  const parent = getIn(value, path.slice(0, -1));
  const key = path.at(-1);
  if (typeof parent === 'object' && parent !== null && key !== undefined) Reflect.set(parent, key, to);
}

export function repeatsIn(items: readonly string[]): readonly number[] {
  return items.flatMap((item, index) => (items.indexOf(item) < index ? [index] : []));
}

export function standsTwice(name: string): string {
  return `'${name}' is listed twice; list it once`;
}

/** Makes a list schema refuse repeated items. @param nameOf Returns what distinguishes them. Default: their text. */
export function distinct<T extends z.ZodType>(list: z.ZodArray<T>, nameOf: (item: z.output<T>) => string = String): z.ZodArray<T> {
  return list
    .superRefine((items, context) => {
      const names = items.map(nameOf);
      for (const index of repeatsIn(names)) context.addIssue({ code: 'custom', path: [index], message: standsTwice(names[index] ?? '') });
    })
    .meta({ uniqueItems: true });
}
