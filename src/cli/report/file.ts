import { constants, type Stats } from 'node:fs';
import { access, lstat, open, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LeadstreamError, SinkError, reasonOf, jsonOf } from '../../core/index.js';
import { fixedPath, removeTemporariesOf, replaceFile } from '../../store/index.js';
import type { CommandContext } from '../context.js';
import type { ReportDocument } from './document.js';

/** The files of `--report`, of which there may be none. */
export interface ReportFiles {
  /** Whether there are any, for which runs are observed. */
  readonly isWanted: boolean;
  /** Puts the report in place, in each in the format of its name. That it cannot is a warning: what was published stays published, and the first failure comes first. */
  write(report: ReportDocument): Promise<void>;
}

/** What a report begins with, in each of its formats. */
const beginning = /^(?:\{\s*"status":|<!-- leadstream report -->|<!doctype html>\n<!-- leadstream report -->)/;

/**
 * Makes the report's files, empty: one that cannot be written is told before the first request, and the report of an earlier run
 * cannot be taken for that of a run that was killed.
 *
 * @throws {LeadstreamError} `E_USAGE` for what is no file of this machine, and for a file that is no report.
 * @throws {SinkError} `E_SINK_PATH`.
 */
export async function openReports(files: readonly string[], context: CommandContext): Promise<ReportFiles> {
  const places: Place[] = [];
  try {
    for (const file of files) places.push(await placeOf(file, context));
  } catch (error) {
    for (const place of places) await place.leave();
    throw error;
  }
  for (const place of places) await place.empty();
  return {
    isWanted: files.length > 0,
    write: async (report) => {
      for (const place of places) await writeTo(place, report, context);
    },
  };
}

async function writeTo({ file, path }: Place, report: ReportDocument, { console }: CommandContext): Promise<void> {
  try {
    await replace(path, await textOf(redacted(report, console.redact), formatOf(file)));
  } catch (error) {
    console.log(
      'warn',
      `the report was not written: --report ${file}: ${reasonOf(error)}; what was published stays, and so does the exit code`,
    );
  }
}

/** The formats of a report, by the end of its name; JSON where that says nothing. */
type Format = 'json' | 'markdown' | 'html';

function formatOf(file: string): Format {
  if (/\.(?:md|markdown)$/i.test(file)) return 'markdown';
  return /\.html?$/i.test(file) ? 'html' : 'json';
}

/** A copy without credentials, before anything is escaped: an escaped one would not be found. */
function redacted(report: ReportDocument, redact: (text: string) => string): ReportDocument {
  return JSON.parse(jsonOf(report, { redact })) as ReportDocument;
}

async function textOf(report: ReportDocument, format: Format): Promise<string> {
  if (format === 'json') return `${jsonOf(report, { indent: 2 })}\n`;
  if (format === 'markdown') return (await import('./markdown.js')).markdownOf(report);
  return (await import('./html/page.js')).pageOf(report);
}

const { O_CREAT, O_NONBLOCK, O_RDWR, O_TRUNC, O_WRONLY } = constants;

/** Where a report can be written. */
interface Place {
  /** As the command line names it. */
  readonly file: string;
  readonly path: string;
  /** Makes the file empty. */
  empty(): Promise<void>;
  /** Leaves everything as it was found. */
  leave(): Promise<void>;
}

/** Finds the place of an earlier report, or makes one, and takes that of nothing else. */
async function placeOf(file: string, { cwd }: CommandContext): Promise<Place> {
  const path = fixedPath(file, '--report', cwd);
  await removeTemporariesOf(path);
  const found = await stat(path).catch((): Stats | undefined => undefined);
  if (found === undefined || found.isFile()) await attempt(file, () => refuseForeign(path));
  return {
    file,
    path,
    empty: () => attempt(file, () => put(path, '')),
    leave: () => (found === undefined ? rm(path, { force: true }) : Promise.resolve()),
  };
}

/** @throws {SinkError} `E_SINK_PATH` for what the system refuses. */
async function attempt(file: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof LeadstreamError) throw error;
    throw new SinkError('E_SINK_PATH', `--report ${file}: ${reasonOf(error)}`);
  }
}

/** Opens a file as it will be written, and looks what it begins with. */
async function refuseForeign(path: string): Promise<void> {
  const file = await open(path, O_RDWR | O_CREAT, 0o666);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(64), 0, 64, 0);
    if (bytesRead > 0 && !beginning.test(buffer.toString('latin1', 0, bytesRead)))
      throw new LeadstreamError('E_USAGE', `--report ${path}: there is a file that is no report; name another one, or remove it`);
  } finally {
    await file.close();
  }
}

/** Puts a whole report in place: who reads it, and a run that is killed, finds all of it or none. */
async function replace(path: string, text: string): Promise<void> {
  const found = await lstat(path).catch((): Stats | undefined => undefined);
  const isAlone = found === undefined || (found.isFile() && found.nlink === 1);
  const canReplace =
    isAlone &&
    (await access(dirname(path), constants.W_OK).then(
      () => true,
      () => false,
    ));
  if (!canReplace) return put(path, text);
  await replaceFile(path, text, found && { mode: found.mode & 0o777, exactly: true });
}

/** Writes what has other names, or is no file, as it stands, at once or not at all: a pipe that nobody reads would let the run wait for ever. */
async function put(path: string, text: string): Promise<void> {
  const file = await open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK, 0o666);
  try {
    await file.writeFile(text);
  } finally {
    await file.close();
  }
}
