import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { constants, realpath, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { z } from 'zod';
import { schema } from '../core/index.js';
import { attempt, makeState, openOwn, openRegular, unlessMissing } from '../store/index.js';

const entry = schema((z) =>
  z.object({
    run: z.string(),
    /** Absolute path of the table. */
    table: z.string(),
    sha256: z.string(),
    hmac_sha256: z.string().optional(),
  }),
);

type Entry = z.output<ReturnType<typeof entry>>;

/** By what a manifest was found to be as its run had written it; `none` when nothing is known of it. */
export type Evidence = 'hmac' | 'sha256' | 'none';

/** What the log has to say of a manifest. */
export interface LogFinding {
  readonly evidence: Evidence;
  /** What is wrong, as a sentence. */
  readonly difference?: string;
  /** The absolute path of the table for which the log has the manifest, where it knows none at the one that was asked about: as if it was moved. */
  readonly movedFrom?: string;
  /** Whether that is no more than that nothing was signed yet: of the table, the log has no line with an HMAC. */
  readonly signs?: boolean;
}

/**
 * The log of runs, `<state-dir>/runs.ndjson`: a line for every manifest that was prepared, with its SHA-256 and, under a key, an HMAC. It
 * is apart from the tables, so that a manifest which was edited together with its data is found out; whoever can write the log too needs
 * the key.
 */
export class RunLog {
  readonly path: string;
  readonly #key: string | undefined;

  /** @param key Of the HMAC, from `LEADSTREAM_MANIFEST_KEY`; an empty one is none. */
  constructor(stateDir: string, key?: string) {
    this.path = join(stateDir, 'runs.ndjson');
    this.#key = key === '' ? undefined : key;
  }

  /**
   * Adds a manifest, durably. A run that is not published after all may leave its line.
   *
   * @throws {SinkError} `E_SINK_PATH` or `E_SINK_WRITE`.
   * @throws {LeadstreamError} `E_STATE_FOREIGN` when the log or its folder was not made by leadstream for this user.
   */
  async record(table: string, run: string, manifest: string): Promise<void> {
    await attempt('E_SINK_PATH', `cannot write ${this.path}`, () => makeState(dirname(this.path)));
    const place = await placeOf(table);
    const facts = { at: new Date().toISOString(), run, table: place, sha256: sha256Of(manifest) };
    const line = JSON.stringify({ ...facts, ...(this.#key !== undefined && { hmac_sha256: hmacOf(this.#key, place, run, manifest) }) });
    await attempt('E_SINK_WRITE', `cannot write ${this.path}`, async () => {
      const file = await openOwn(this.path, constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY);
      try {
        // The line before may have been cut off by a loss of power.
        await file.appendFile(`\n${line}\n`);
        await file.datasync();
      } finally {
        await file.close();
      }
    });
  }

  /** Compares the manifest of a run with what the run had logged. */
  async check(table: string, run: string, manifest: string): Promise<LogFinding> {
    const place = await placeOf(table);
    const entries = await this.#entriesOf(place, run);
    const known = entries.filter((one) => one.table === place);
    const logged = known.filter((one) => one.run === run);
    const signs = known.every((one) => one.hmac_sha256 === undefined);
    if (logged.length > 0) return this.#compare(logged, place, run, manifest, signs);
    const sha256 = sha256Of(manifest);
    // Tables that one run wrote have its name in common, and no manifest.
    const moved = known.length === 0 ? entries.find((one) => one.sha256 === sha256) : undefined;
    const movedFrom = moved && { movedFrom: moved.table };
    if (moved && this.#key === undefined) return { evidence: 'sha256', ...movedFrom };
    // What was published before the log began is not in it; with a key, nobody may claim that.
    const missing = this.#key !== undefined || known.some((one) => one.run < run);
    const elsewhere = moved === undefined ? '' : ` for this path, but for ${moved.table}`;
    const difference = `run ${run} is not in the log of runs ${this.path}${elsewhere}`;
    return { evidence: 'none', ...movedFrom, ...(missing && { difference, signs: known.length === 0 }) };
  }

  #compare(logged: readonly Entry[], table: string, run: string, manifest: string, signs: boolean): LogFinding {
    const sha256 = sha256Of(manifest);
    const same = logged.filter((one) => one.sha256 === sha256);
    if (same.length === 0)
      return { evidence: 'none', difference: `the manifest of run ${run} is not the one that the run wrote (SHA-256 in ${this.path})` };
    if (this.#key === undefined) return { evidence: 'sha256' };
    const hmac = hmacOf(this.#key, table, run, manifest);
    if (same.some((one) => one.hmac_sha256 !== undefined && equal(one.hmac_sha256, hmac))) return { evidence: 'hmac' };
    const what = same.some((one) => one.hmac_sha256 !== undefined) ? 'is not one of this key' : 'is missing';
    return { evidence: 'none', difference: `the HMAC of the manifest of run ${run} in ${this.path} ${what}`, signs };
  }

  /** The lines of a table or of a run; those of all tables may be more than a text can hold. */
  async #entriesOf(table: string, run: string): Promise<readonly Entry[]> {
    return attempt('E_SINK_WRITE', `cannot read ${this.path}`, async () => {
      // Whoever checks may be another user than the one who runs.
      const file = await openRegular(this.path).catch(unlessMissing(undefined));
      if (file === undefined) return [];
      const found: Entry[] = [];
      try {
        for await (const line of linesOf(file)) {
          const one = entryIn(line);
          if (one?.table === table || one?.run === run) found.push(one);
        }
      } finally {
        await file.close();
      }
      return found;
    });
  }
}

/** Bytes of the longest line that is looked at; one of ours has a path in it, and some hundred more. */
const maxLineLength = 65_536;

/** The lines of a file that are not too long to be ours, a piece of the file at a time. */
async function* linesOf(file: FileHandle): AsyncIterable<string> {
  const piece = Buffer.alloc(1024 * 1024);
  let head = Buffer.alloc(0);
  let tooLong = false;
  for (;;) {
    const { bytesRead } = await file.read(piece, 0, piece.length, null);
    if (bytesRead === 0) break;
    let from = 0;
    for (let end = endIn(piece, from, bytesRead); end !== -1; end = endIn(piece, from, bytesRead)) {
      if (!tooLong && head.length + end - from <= maxLineLength) yield Buffer.concat([head, piece.subarray(from, end)]).toString('utf8');
      head = Buffer.alloc(0);
      tooLong = false;
      from = end + 1;
    }
    tooLong ||= head.length + bytesRead - from > maxLineLength;
    head = tooLong ? Buffer.alloc(0) : Buffer.concat([head, piece.subarray(from, bytesRead)]);
  }
  if (!tooLong) yield head.toString('utf8');
}

/** Where the line ends that begins at `from`; -1 when that is not among the bytes read. */
function endIn(piece: Buffer, from: number, bytes: number): number {
  const end = piece.indexOf(0x0a, from);
  return end < bytes ? end : -1;
}

/** A line that was cut off is none. */
function entryIn(line: string): Entry | undefined {
  try {
    return entry().safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

/** The path of a table, whatever links its folder was reached by. */
async function placeOf(table: string): Promise<string> {
  const folder = dirname(table);
  return join(await realpath(folder).catch(() => folder), basename(table));
}

function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmacOf(key: string, table: string, run: string, manifest: string): string {
  return createHmac('sha256', key)
    .update(JSON.stringify([table, run, manifest]))
    .digest('hex');
}

function equal(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
