import { constants, type Stats } from 'node:fs';
import { access, lstat, open, rm, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { LeadstreamError, SinkError, reasonOf, jsonOf } from '../../core/index.js';
import { fixedPath, removeTemporaries, replaceFile } from '../../store/index.js';
import type { CommandContext } from '../context.js';
import type { ReportDocument } from './document.js';

/** The files of `--report`, possibly none. */
export interface ReportFiles {
  /** Whether there are any. Only then are runs observed. */
  readonly isWanted: boolean;
  /**
   * Writes the report to each file, in the format that its name selects. If it cannot be written, it warns: what was published stays published, and an earlier
   * failure takes precedence.
   */
  write(report: ReportDocument): Promise<void>;
}

/** How a report begins, in each of its formats. */
const beginning = /^(?:\{\s*"status":|<!-- leadstream report -->|<!doctype html>\n<!-- leadstream report -->)/;

/**
 * Creates the report's files, empty. A file that cannot be written is reported before the first request, and after a killed run no earlier report can be taken
 * for its own.
 *
 * @throws {LeadstreamError} `E_USAGE` for anything but a file on this machine, and for a file that is not a report.
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
      `the report was not written: --report ${file}: ${reasonOf(error)}; what was published and the exit code are unaffected`,
    );
  }
}

/** Formats of a report, by the ending of its name; JSON for any other ending. */
type Format = 'json' | 'markdown' | 'html';

function formatOf(file: string): Format {
  if (/\.(?:md|markdown)$/i.test(file)) return 'markdown';
  return /\.html?$/i.test(file) ? 'html' : 'json';
}

/** Returns a copy without credentials, made before anything is escaped: an escaped one would not be found. */
function redacted(report: ReportDocument, redact: (text: string) => string): ReportDocument {
  return JSON.parse(jsonOf(report, { redact })) as ReportDocument;
}

async function textOf(report: ReportDocument, format: Format): Promise<string> {
  if (format === 'json') return `${jsonOf(report, { indent: 2 })}\n`;
  if (format === 'markdown') return (await import('./markdown.js')).markdownOf(report);
  return (await import('./html/page.js')).pageOf(report);
}

const { O_CREAT, O_NONBLOCK, O_RDWR, O_TRUNC, O_WRONLY } = constants;

/** A place where a report can be written. */
interface Place {
  /** As named on the command line. */
  readonly file: string;
  readonly path: string;
  /** Empties the file. */
  empty(): Promise<void>;
  /** Leaves everything as it was. */
  leave(): Promise<void>;
}

/** Finds the place of an earlier report, or creates one. Refuses any other file. */
async function placeOf(file: string, { cwd }: CommandContext): Promise<Place> {
  const path = fixedPath(file, '--report', cwd);
  await removeTemporaries(dirname(path), (name) => name === basename(path));
  const found = await stat(path).catch((): Stats | undefined => undefined);
  if (found === undefined || found.isFile()) await attempt(file, () => refuseForeign(path));
  return {
    file,
    path,
    empty: () => attempt(file, () => put(path, '')),
    leave: () => (found === undefined ? rm(path, { force: true }) : Promise.resolve()),
  };
}

/** @throws {SinkError} `E_SINK_PATH` for anything that the system refuses. */
async function attempt(file: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof LeadstreamError) throw error;
    throw new SinkError('E_SINK_PATH', `--report ${file}: ${reasonOf(error)}`);
  }
}

/** Opens a file as it will be written, and checks how it begins. */
async function refuseForeign(path: string): Promise<void> {
  const file = await open(path, O_RDWR | O_CREAT, 0o666);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(64), 0, 64, 0);
    if (bytesRead > 0 && !beginning.test(buffer.toString('latin1', 0, bytesRead)))
      throw new LeadstreamError('E_USAGE', `--report ${path}: the existing file is not a report; name another one, or remove it`);
  } finally {
    await file.close();
  }
}

/** Replaces a whole report: a reader finds all of it or none, even if the run is killed. */
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

/** Writes in place to anything that has other names or is not a file, at once or not at all: a pipe that no one reads would make the run wait forever. */
async function put(path: string, text: string): Promise<void> {
  const file = await open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK, 0o666);
  try {
    await file.writeFile(text);
  } finally {
    await file.close();
  }
}
