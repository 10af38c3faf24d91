import { resolve } from 'node:path';
import { LeadstreamError, SinkError } from '../core/index.js';
import { localDisk } from './local-disk/local-disk.js';
import type { Commit, Store } from './store.js';

/** All stores. To add one for files, add a folder next to `local-disk` and list the store here. */
export const stores: readonly Store[] = [localDisk];

/** A word and `://`, or `:/` unless it is one letter; and what is known as a scheme, whatever follows. A file of such a name is written as `./s3:x`. */
const scheme =
  /^(?:[a-z][a-z\d+.-]*:(?=\/\/)|[a-z][a-z\d+.-]+:(?=\/)|(?:s3[an]?|gs|gcs|r2|az|abfss?|adl|wasbs?|hdfs|https?|ftps?|sftp|file|oss|dbfs):)/i;

/** Returns the scheme of a path, such as `s3:`; `undefined` for one of this machine. */
function schemeOf(path: string): string | undefined {
  return scheme.exec(path)?.[0];
}

/** Returns the store for the scheme of a path; `undefined` if there is none. */
function storeAt(path: string): Store | undefined {
  const scheme = schemeOf(path);
  return stores.find((store) => store.scheme === scheme);
}

/**
 * Returns the store that contains all outputs of a commit.
 *
 * @throws {SinkError} `E_SINK_PATH` if they are not all in one store, since a commit is never carried out in two places.
 */
export function storeOf(outputs: readonly string[]): Store {
  const found = new Set(outputs.map(storeAt));
  const [store = localDisk] = found;
  if (found.size > 1 || found.has(undefined)) throw new SinkError('E_SINK_PATH', `there is no store for all of ${outputs.join(', ')}`);
  return store;
}

/** Returns whether writing one destination would write over or into the other; never for destinations in different stores. */
export function overlap(a: string, b: string): boolean {
  const store = storeAt(a);
  return store !== undefined && store === storeAt(b) && store.overlap(a, b);
}

/**
 * Carries out a commit without a redo log: if it is interrupted, nothing completes it.
 *
 * @throws {SinkError} As `Store.prepare` and `PreparedCommit.commit`.
 */
export async function commitUnlogged(commit: Commit): Promise<void> {
  const prepared = await storeOf(commit.outputs).prepare(commit);
  await prepared.commit();
}

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

/**
 * Describes what is wrong with the path of an output, if anything: a scheme without a store, or invalid braces.
 *
 * @param able The stores that it may be in. Default: all; the path of a table is on this machine whatever stores there are.
 */
export function pathProblem(path: string, able = stores): string | undefined {
  if (/\p{Cs}/u.test(path) || path.includes('\0')) return 'it has characters that no path may have: half of a surrogate pair, or NUL';
  if (path.trim() !== path) return 'it begins or ends with white space; remove that';
  if (/^~(?:\/|$)|(?:^|\/)\$\w/.test(path)) return 'no shell expands ~ or $NAME here; write the path, or ${NAME} for a variable';
  return schemeProblem(path, able) ?? bracesProblem(path);
}

/** Describes what is wrong with the path of a table, if anything. */
export function tableProblem(path: string): string | undefined {
  return pathProblem(path, [localDisk]);
}

/**
 * Returns the absolute path of something on this machine that exists before a run begins.
 *
 * @param option Option that the path was given for, for the message.
 * @throws {LeadstreamError} `E_USAGE` if it is not a path of this machine, or has names in braces.
 */
export function fixedPath(path: string, option: string, baseDir: string): string {
  const braces = path.includes('{{') ? 'only outputs and rejects of pipeline files take {{ … }}' : undefined;
  const problem = schemeProblem(path, [localDisk]) ?? braces;
  if (problem !== undefined) throw new LeadstreamError('E_USAGE', `${option} ${path}: ${problem}`);
  return resolve(baseDir, path);
}

function schemeProblem(path: string, able: readonly Store[]): string | undefined {
  const found = schemeOf(path);
  if (able.some((store) => store.scheme === found)) return undefined;
  const kinds = able.map(({ holds }) => holds).join(' or ');
  return `'${found}' is a scheme, but this writes ${kinds}; write to a folder here and copy it from there`;
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
