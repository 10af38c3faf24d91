import { existsSync, realpathSync } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { LeadstreamError, SinkError } from '../core/index.js';
import { attempt, unlessMissing } from './failure.js';
import type { ObjectStores } from './objects.js';

const names = ['run.date', 'run.id', 'pipeline'] as const;

/** Values for `{{ … }}` in the path of an output: the UTC date of the run's first start (`YYYY-MM-DD`), its id, and the pipeline's name. */
export type PathNames = Readonly<Record<(typeof names)[number], string>>;

export const dayTemplate = '{{ run.date }}';

export const runTemplate = '{{ run.id }}';

const template = /\{\{([^{}]*)\}\}/g;

/** Fills in the braces of a valid path. @returns `undefined` if a value is not a plain name, so that it could lead to another folder. */
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

/** Returns whether a path is on a store, like `s3://bucket/lake/leads`. */
export function isRemote(path: string): boolean {
  return path.startsWith('s3://');
}

/** Paths on a store are absolute. */
export function absolutePath(baseDir: string, path: string): string {
  return isRemote(path) ? path : resolve(baseDir, path);
}

/** Describes what is wrong with the path of an output, if anything: a scheme, or invalid braces. */
export function pathProblem(path: string): string | undefined {
  if (/\p{Cs}/u.test(path) || path.includes('\0')) return 'it has characters that no path may have: half a surrogate pair, or NUL';
  if (path.trim() !== path) return 'it begins or ends with white space; remove that';
  if (/^~(?:\/|$)|(?:^|\/)\$\w/.test(path)) return 'no shell expands ~ or $NAME here; write the path, or ${NAME} for a variable';
  return schemeProblem(path) ?? bracesProblem(path);
}

/**
 * Returns the absolute path of something that exists before a run begins.
 * @param option What the path was given for, for the message.
 * @throws {LeadstreamError} `E_USAGE` for a path that is not on this machine, or has names in braces.
 */
export function fixedPath(path: string, option: string, baseDir: string): string {
  if (isRemote(path)) throw new LeadstreamError('E_USAGE', `${option} ${path}: the path must be on this machine`);
  return fixedPlace(path, option, baseDir);
}

/** As `fixedPath`, for a table or a report, which may be on a store. */
export function fixedPlace(path: string, option: string, baseDir: string): string {
  const problem = path.includes('{{') ? 'only outputs and rejects of pipeline files take {{ … }}' : schemeProblem(path);
  if (problem !== undefined) throw new LeadstreamError('E_USAGE', `${option} ${path}: ${problem}`);
  return absolutePath(baseDir, path);
}

function objectProblem(path: string): string | undefined {
  const [bucket = '', ...names] = path.slice('s3://'.length).split('/');
  if (!/^[a-z0-9][a-z0-9.-]+[a-z0-9]$/.test(bucket) || names.length === 0)
    return 'write s3://BUCKET/NAME, with the name of an existing bucket';
  if (names.some((name) => ['', '.', '..'].includes(name))) return "its names must not be empty, '.' or '..', and no slash may follow them";
  return /[?#\\\p{Cc}]/u.test(path) ? 'it has ?, #, a backslash or a control character' : undefined;
}

/** A word and `://`, or `:/` after more than one letter; and known schemes, whatever follows. A file of such a name is written `./s3:x`. */
const scheme =
  /^(?:[a-z][a-z\d+.-]*:(?=\/\/)|[a-z][a-z\d+.-]+:(?=\/)|(?:s3[an]?|gs|gcs|r2|az|abfss?|adl|wasbs?|hdfs|https?|ftps?|sftp|file|oss|dbfs):)/i;

function schemeProblem(path: string): string | undefined {
  if (isRemote(path)) return objectProblem(path);
  const [found] = scheme.exec(path) ?? [];
  return found && `'${found}' is a scheme, but this writes to s3:// and on this machine; write to a folder here and copy it from there`;
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

/** Returns whether a commit would replace something at a destination. An empty folder is nothing. @throws {SinkError} `E_SINK_PATH`. */
export async function isOccupied(destination: string, stores: ObjectStores): Promise<boolean> {
  if (isRemote(destination)) {
    // A table has a manifest; what leadstream keeps next to its data exists before the first commit.
    const { store, key } = stores.above(destination);
    return (await store.find(key)) !== undefined;
  }
  return attempt('E_SINK_PATH', `cannot read ${destination}`, async () => {
    const found = await lstat(destination).catch(unlessMissing(undefined));
    return found !== undefined && !(found.isDirectory() && (await readdir(destination)).length === 0);
  });
}

/**
 * Returns whether writing one output would write over or into the other, or into a file that leadstream has next to it (`.<name>.lock` and
 * so on), through any links. An output that is a link is not followed: a table's link is replaced, others are refused. Absolute paths,
 * existing or not; those of stores are compared as text.
 */
export function overlap(a: string, b: string): boolean {
  const [one, other] = [placeOf(a), placeOf(b)];
  return takes(one, other) || takes(other, one);
}

/** Refuses a place inside a table, published or not; one on a store hides nothing. @throws {SinkError} `E_SINK_PATH`. */
export function refuseInTable(path: string): void {
  if (isRemote(path)) return;
  for (let above of [dirname(path), realOf(dirname(path))]) {
    for (; above !== dirname(above); above = dirname(above)) {
      const name = runsName.exec(basename(above))?.[1];
      if (name === undefined && !existsSync(runsFolderOf(above))) continue;
      const table = join(dirname(above), name ?? basename(above));
      throw new SinkError('E_SINK_PATH', `${path} is inside the table ${table}, whose next run would hide it; write outside the table`);
    }
  }
}

export function runsFolderOf(table: string): string {
  return join(dirname(table), `.${basename(table)}.runs`);
}

const runsName = /^\.(.+)\.runs$/;

function placeOf(path: string): string {
  return isRemote(path) ? path : join(realOf(dirname(path)), basename(path));
}

/** Returns whether a place is an output's, inside it, or has a name that belongs to it. */
function takes(output: string, place: string): boolean {
  if (place === output || place.startsWith(output + sep)) return true;
  const hidden = `${output.slice(0, -basename(output).length)}.${basename(output)}.`;
  const [name = ''] = place.slice(hidden.length).split(sep);
  return place.startsWith(hidden) && hiddenEnding.test(name);
}

/** What follows `.<name>.`: the runs of a table, locks, and files being written. */
const hiddenEnding = /^(?:runs|lock(?:-[^/]+\.lock)?|[\w-]+\.partial)$/;

/** Resolves the links of a path that may not exist. */
function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realOf(dirname(path)), basename(path));
  }
}
