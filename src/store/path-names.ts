import { nearest } from '../core/index.js';

const names = ['run.date', 'run.id', 'pipeline'] as const;

/**
 * Values for `{{ … }}` in the path of an output: the UTC date on which the run was first started
 * (`YYYY-MM-DD`), the id of the run, and the name of the pipeline.
 */
export type PathNames = Readonly<Record<(typeof names)[number], string>>;

/** Placeholder of the day in a path that is not filled in yet. */
export const dayTemplate = '{{ run.date }}';

/** Placeholder of the run in a path that is not filled in yet. */
export const runTemplate = '{{ run.id }}';

const template = /\{\{([^{}]*)\}\}/g;

/** Describes what is wrong with the braces in a path, if anything. */
export function bracesProblem(path: string): string | undefined {
  const templates = [...path.matchAll(template)];
  const unknown = templates.find(([, name = '']) => !isName(name.trim()));
  if (unknown) return unknownTemplate(unknown[0], unknown[1]?.trim() ?? '');
  if (/\{\{|\}\}/.test(path.replaceAll(template, ''))) return `'{{' and '}}' must enclose a name: the names are ${list(names.map(braced))}`;
  const behind = path.slice(templates[0]?.index ?? path.length);
  return behind.split('/').includes('..') ? `'..' after ${templates[0]?.[0] ?? ''} leaves the named folder; leave it out` : undefined;
}

/**
 * Fills in the braces of a valid path.
 *
 * @returns `undefined` if a value is not a plain name and could lead to another folder.
 */
export function filledPath(path: string, values: PathNames): string | undefined {
  let safe = true;
  const filled = path.replaceAll(template, (_, inner: string) => {
    const name = inner.trim();
    const value = isName(name) ? values[name] : '';
    safe &&= isSafe(value);
    return value;
  });
  return safe ? filled : undefined;
}

function isName(text: string): text is (typeof names)[number] {
  return names.some((name) => name === text);
}

function isSafe(value: string): boolean {
  return value === dayTemplate || value === runTemplate || /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(value);
}

function unknownTemplate(whole: string, name: string): string {
  // 'run' alone does not determine which of its parts is meant.
  const near = names.some((known) => known.startsWith(`${name}.`)) ? undefined : nearest(name, names);
  return `'${whole}' has no meaning in a path${near === undefined ? `; the names are ${list(names.map(braced))}` : `, did you mean '${braced(near)}'?`}`;
}

function braced(name: string): string {
  return `{{ ${name} }}`;
}

function list(words: readonly string[]): string {
  return `${words.slice(0, -1).join(', ')} and ${words.at(-1) ?? ''}`;
}
