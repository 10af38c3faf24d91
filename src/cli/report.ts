import { constants, createReadStream } from 'node:fs';
import { lstat, stat, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { jsonOf, LeadstreamError, reasonOf, SinkError } from '../core/index.js';
import { fixedPlace, isRemote, type ObjectStores, removeTemporaries, replaceFile } from '../store/index.js';
import type { CommandContext } from './command.js';
import type { ReportDocument } from './report-document.js';

export class ReportFiles {
  private constructor(
    private readonly files: ReadonlyMap<string, string>,
    private readonly context: CommandContext,
    private readonly stores: ObjectStores,
  ) {}

  /** Empties the files, so that an earlier report is not taken for a killed run's. */
  static async open(files: readonly string[], context: CommandContext, stores: ObjectStores): Promise<ReportFiles> {
    const places = new Map(files.map((file) => [file, fixedPlace(file, '--report', context.cwd)]));
    for (const work of [refuseForeign, (path: string) => put(path, '', stores)])
      for (const [file, path] of places)
        await work(path, stores).catch((error: unknown) => {
          throw error instanceof LeadstreamError ? error : new SinkError('E_SINK_PATH', `--report ${file}: ${reasonOf(error)}`);
        });
    return new ReportFiles(places, context, stores);
  }

  /** Only warns if a report cannot be written: what was published stays. */
  async write(report: ReportDocument): Promise<void> {
    const { console } = this.context;
    for (const [file, path] of this.files)
      try {
        // Credentials are redacted before anything is escaped: an escaped one would not be found.
        const redacted = JSON.parse(jsonOf(report, { redact: console.redact })) as ReportDocument;
        const { reportPage } = await import('./report-page.js');
        const content = /\.html?$/i.test(file) ? reportPage(redacted) : `${jsonOf(redacted, { indent: 2 })}\n`;
        // A reader finds the whole report or none, even after a kill.
        const found = isRemote(path) ? undefined : await lstat(path);
        if (!found?.isFile()) await put(path, content, this.stores);
        else await replaceFile(path, content, found.mode & 0o777).catch(() => put(path, content, this.stores));
      } catch (error) {
        const unaffected = 'what was published and the exit code are unaffected';
        console.log('warn', `the report was not written: --report ${file}: ${reasonOf(error)}; ${unaffected}`);
      }
  }
}

async function refuseForeign(path: string, stores: ObjectStores): Promise<void> {
  if (/^(?:$|\{\s*"status":|<!doctype html>\n<!-- leadstream report -->)/.test(await startOf(path, stores))) return;
  throw new LeadstreamError('E_USAGE', `--report ${path}: the existing file is not a report; name another one, or remove it`);
}

async function startOf(path: string, stores: ObjectStores): Promise<string> {
  if (isRemote(path)) {
    const { store, key } = stores.above(path);
    return (await store.read(key))?.bytes.toString('latin1', 0, 64) ?? '';
  }
  await removeTemporaries(dirname(path), (name) => name === basename(path));
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() ? text(createReadStream(path, { end: 63 })) : '';
}

/** Writes in place, at once or not at all: a pipe that no one reads would block the run forever. */
async function put(path: string, content: string, stores: ObjectStores): Promise<void> {
  if (isRemote(path)) {
    const { store, key } = stores.above(path);
    return store.put(key, content);
  }
  const { O_CREAT, O_NONBLOCK, O_TRUNC, O_WRONLY } = constants;
  return writeFile(path, content, { flag: O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK });
}
