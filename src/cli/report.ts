import { constants, type Stats } from 'node:fs';
import { lstat, open, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { jsonOf, LeadstreamError, reasonOf, SinkError } from '../core/index.js';
import { fixedPlace, isRemote, type ObjectStores, removeTemporaries, replaceFile } from '../store/index.js';
import type { CommandContext } from './command.js';
import type { ReportDocument } from './report-document.js';

const beginning = /^(?:$|\{\s*"status":|<!doctype html>\n<!-- leadstream report -->)/;

export class ReportFiles {
  private constructor(
    private readonly files: ReadonlyMap<string, string>,
    private readonly context: CommandContext,
    private readonly stores: ObjectStores,
  ) {}

  /** Empties the files: after a killed run no earlier report can be taken for its own. */
  static async open(files: readonly string[], context: CommandContext, stores: ObjectStores): Promise<ReportFiles> {
    const places = new Map(files.map((file) => [file, fixedPlace(file, '--report', context.cwd)]));
    for (const work of [refuseForeign, (path: string) => put(path, '', stores)])
      for (const [file, path] of places)
        await work(path, stores).catch((error: unknown) => {
          throw error instanceof LeadstreamError ? error : new SinkError('E_SINK_PATH', `--report ${file}: ${reasonOf(error)}`);
        });
    return new ReportFiles(places, context, stores);
  }

  /** If a report cannot be written, it warns: what was published stays. */
  async write(report: ReportDocument): Promise<void> {
    const { console } = this.context;
    for (const [file, path] of this.files)
      try {
        // Credentials leave before anything is escaped: an escaped one would not be found.
        const redacted = JSON.parse(jsonOf(report, { redact: console.redact })) as ReportDocument;
        const { pageOf } = await import('./report-page.js');
        await replace(path, /\.html?$/i.test(file) ? pageOf(redacted) : `${jsonOf(redacted, { indent: 2 })}\n`, this.stores);
      } catch (error) {
        const unaffected = 'what was published and the exit code are unaffected';
        console.log('warn', `the report was not written: --report ${file}: ${reasonOf(error)}; ${unaffected}`);
      }
  }
}

async function refuseForeign(path: string, stores: ObjectStores): Promise<void> {
  if (beginning.test(await startOf(path, stores))) return;
  throw new LeadstreamError('E_USAGE', `--report ${path}: the existing file is not a report; name another one, or remove it`);
}

async function startOf(path: string, stores: ObjectStores): Promise<string> {
  if (isRemote(path)) {
    const { store, key } = stores.above(path);
    return (await store.read(key))?.bytes.toString('latin1', 0, 64) ?? '';
  }
  await removeTemporaries(dirname(path), (name) => name === basename(path));
  const found = await stat(path).catch((): Stats | undefined => undefined);
  if (!found?.isFile()) return '';
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(64), 0, 64, 0);
    return buffer.toString('latin1', 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Replaces a whole report: a reader finds all of it or none, even if the run is killed. */
async function replace(path: string, text: string, stores: ObjectStores): Promise<void> {
  const found = isRemote(path) ? undefined : await lstat(path);
  if (!found?.isFile()) return put(path, text, stores);
  await replaceFile(path, text, found.mode & 0o777).catch(() => put(path, text, stores));
}

const { O_CREAT, O_NONBLOCK, O_TRUNC, O_WRONLY } = constants;

/** Writes in place, at once or not at all: a pipe that no one reads would make the run wait forever. */
async function put(path: string, text: string, stores: ObjectStores): Promise<void> {
  if (isRemote(path)) {
    const { store, key } = stores.above(path);
    return store.put(key, text);
  }
  const file = await open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK, 0o666);
  try {
    await file.writeFile(text);
  } finally {
    await file.close();
  }
}
