import { constants, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { z } from 'zod';
import { schema } from '../core/index.js';
import { attempt, closing, jsonIn, makeState, openOwn, openRegular, sha256Text, unlessMissing } from '../store/index.js';

const entry = schema((z) => z.object({ run: z.string(), table: z.string(), sha256: z.string(), committed: z.boolean().optional() }));

type Entry = z.output<ReturnType<typeof entry>>;

/** How a manifest was shown to be unchanged since its run wrote it; `none` if nothing is known about it. */
export type Evidence = 'sha256' | 'none';

interface LogFinding {
  readonly evidence: Evidence;
  /** What is wrong, as a sentence. */
  readonly difference?: string;
  /** `Verification.movedFrom`. */
  readonly movedFrom?: string;
}

/**
 * The log of runs, `<state-dir>/runs.ndjson`: a line for every prepared manifest, with its SHA-256 and the absolute path of its table, and for one on a store another after its commit.
 * It is separate from the tables, so that editing a manifest together with its data is detected.
 */
export class RunLog {
  readonly path: string;

  constructor(stateDir: string) {
    this.path = join(stateDir, 'runs.ndjson');
  }

  static at(stateDir: string | undefined): RunLog | undefined {
    return stateDir === undefined ? undefined : new RunLog(stateDir);
  }

  /** Adds a manifest, durably. Only of a run that `committed` does the line say that it was published. @throws As `makeState`. */
  async record(table: string, run: string, sha256: string, committed = false): Promise<void> {
    await attempt('E_SINK_PATH', `cannot write ${this.path}`, () => makeState(dirname(this.path)));
    const place = await placeOf(table);
    const line = JSON.stringify({ at: new Date().toISOString(), run, table: place, sha256, ...(committed && { committed }) });
    await attempt('E_SINK_WRITE', `cannot write ${this.path}`, async () => {
      await closing(await openOwn(this.path, constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY), async (file) => {
        // The line before may have been cut off by a power failure.
        await file.appendFile(`\n${line}\n`);
        await file.datasync();
      });
    });
  }

  async has(run: string): Promise<boolean> {
    return (await this.#entriesOf('', run)).length > 0;
  }

  /** Returns the runs of a table that were logged after their commit. */
  async committed(table: string): Promise<readonly string[]> {
    const entries = await this.#entriesOf(await placeOf(table), '');
    return entries.filter(({ committed }) => committed).map(({ run }) => run);
  }

  /** Compares the manifest of a run with what the run logged. If the table itself vouches for it, the run may be of a machine with a log of its own. */
  async check(table: string, run: string, manifest: string, isVouched = false): Promise<LogFinding> {
    const place = await placeOf(table);
    const entries = await this.#entriesOf(place, run);
    const known = entries.filter((one) => one.table === place);
    const logged = known.filter((one) => one.run === run);
    const sha256 = sha256Text(manifest);
    if (logged.some((one) => one.sha256 === sha256)) return { evidence: 'sha256' };
    if (logged.length > 0)
      return { evidence: 'none', difference: `the manifest of run ${run} is not the one that the run wrote (SHA-256 in ${this.path})` };
    // Tables written by one run share its name, but not its manifest.
    const moved = known.length === 0 ? entries.find((one) => one.sha256 === sha256) : undefined;
    if (moved) return { evidence: 'sha256', movedFrom: moved.table };
    // Tables published before the log began are not in it.
    if (isVouched || !known.some((one) => one.run < run)) return { evidence: 'none' };
    return { evidence: 'none', difference: `run ${run} is not in the log of runs ${this.path}` };
  }

  async #entriesOf(table: string, run: string): Promise<readonly Entry[]> {
    return attempt('E_SINK_WRITE', `cannot read ${this.path}`, async () => {
      // The check may run as another user than the runs.
      const file = await openRegular(this.path).catch(unlessMissing(undefined));
      if (file === undefined) return [];
      const found: Entry[] = [];
      await closing(file, async () => {
        for await (const line of file.readLines()) {
          // A truncated line is ignored.
          const one = entry().safeParse(jsonIn(line)).data;
          if (one?.table === table || one?.run === run) found.push(one);
        }
      });
      return found;
    });
  }
}

async function placeOf(table: string): Promise<string> {
  const folder = dirname(table);
  return join(await realpath(folder).catch(() => folder), basename(table));
}
