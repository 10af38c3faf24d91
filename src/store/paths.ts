import { resolve } from 'node:path';
import { LeadstreamError } from '../core/index.js';
import { localDisk } from './local-disk/local-disk.js';
import type { Store } from './store.js';
import { schemeOf, storeAt, stores } from './stores.js';

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
    safe &&= value === dayTemplate || value === runTemplate || /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(value);
    return value;
  });
  return safe ? filled : undefined;
}

/** Describes what is wrong with the path of an output, if anything: a scheme without a store, a variable that only a shell fills in, or invalid braces. */
export function pathProblem(path: string): string | undefined {
  return problemIn(stores, path, `outputs are ${stores.map(({ holds }) => holds).join(' or ')}; ${remedy}`);
}

/** Describes what is wrong with the path of a table, which is on this machine whatever stores there are. */
export function tableProblem(path: string): string | undefined {
  return problemIn(here, path, `${tablesAre}; ${remedy}`);
}

/**
 * Returns the absolute path of something on this machine that exists before a run begins.
 *
 * @param option Option that the path was given for, for the message.
 * @throws {LeadstreamError} `E_USAGE` if it is not a path of this machine, or has names in braces.
 */
export function fixedPath(path: string, option: string, baseDir: string): string {
  const braces = path.includes('{{') ? 'only outputs and rejects of pipeline files take {{ … }}' : undefined;
  return usable(path, option, baseDir, problemIn(here, path, `${option} takes a path on this machine`) ?? braces);
}

/**
 * Returns the absolute path of a table written earlier, whatever its name is by now.
 *
 * @param option Option that the path was given for, for the message.
 * @throws {LeadstreamError} `E_USAGE` for a scheme.
 */
export function writtenTable(path: string, option: string, baseDir: string): string {
  return usable(path, option, baseDir, schemeProblem(here, path, tablesAre));
}

const here = [localDisk];
const tablesAre = `tables are ${localDisk.holds}`;
const remedy = 'write to a folder here and copy it from there';

function usable(path: string, option: string, baseDir: string, problem: string | undefined): string {
  if (problem !== undefined) throw new LeadstreamError('E_USAGE', `${option} ${path}: ${problem}`);
  return resolve(baseDir, path);
}

/**
 * @param able The stores that the path may be in.
 * @param instead What to use in place of a scheme that none of them has.
 */
function problemIn(able: readonly Store[], path: string, instead: string): string | undefined {
  if (/\p{Cs}/u.test(path) || path.includes('\0')) return 'it has characters that no path may have: half of a surrogate pair, or NUL';
  if (path.trim() !== path) return 'it begins or ends with white space; remove that';
  return schemeProblem(able, path, instead) ?? storeAt(path)?.problem(path) ?? variableProblem(path) ?? bracesProblem(path);
}

function schemeProblem(able: readonly Store[], path: string, instead: string): string | undefined {
  const scheme = schemeOf(path);
  return able.some((store) => store.scheme === scheme) ? undefined : `'${scheme}' is a scheme, but ${instead}`;
}

/** Describes a shell variable that would become a literal part of the path. */
function variableProblem(path: string): string | undefined {
  const [, variable] = /(?:^|\/)\$(\w+)/.exec(path) ?? /\$([A-Z_][A-Z\d_]*)/.exec(path) ?? [];
  return variable && `only a shell expands '$${variable}'; write \${${variable}} in the file, or the path in full`;
}

function bracesProblem(path: string): string | undefined {
  const templates = [...path.matchAll(template)];
  const theNames = 'the names are {{ run.date }}, {{ run.id }} and {{ pipeline }}';
  const [unknown] = templates.find(([, name = '']) => !isName(name.trim())) ?? [];
  if (unknown !== undefined) return `'${unknown}' has no meaning in a path; ${theNames}`;
  if (/\{\{|\}\}/.test(path.replaceAll(template, ''))) return `'{{' and '}}' must enclose a name; ${theNames}`;
  const behind = path.slice(templates[0]?.index ?? path.length);
  return behind.split('/').includes('..') ? `'..' after ${templates[0]?.[0] ?? ''} leaves the named folder; leave it out` : undefined;
}

function isName(text: string): text is (typeof names)[number] {
  return names.some((name) => name === text);
}
