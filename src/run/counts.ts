import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { z } from 'zod';
import type { Collection } from '../collections/index.js';
import { accountOf } from '../http/index.js';
import { reasonOf, schema } from '../core/index.js';
import type { Events } from '../events/index.js';
import { errnoOf, inTurn, type LoggedCommit, makePrivate, readOwn, removeTemporaries, replaceFile } from '../store/index.js';
import { accountKey, countedName, inState, type ConnectOptions } from '../source/index.js';

const count = schema((z) => z.object({ rows: z.number().int().nonnegative(), run: z.string() }));

const outputCount = schema((z) => count().extend({ reads: z.record(z.string(), z.number().int().nonnegative()).default({}) }));

const countsFile = schema((z) =>
  z.object({
    version: z.literal(1),
    /** By list, account and service. */
    sources: z.record(z.string(), count()),
    /** By path, with placeholders for what is unknown before a run. Includes the rows of the lists that they were made from, by collection. */
    outputs: z.record(z.string(), outputCount()),
    /** Outputs that a run filled with a partial list, so that nothing was counted; by path. */
    parts: z.record(z.string(), z.object({ run: z.string() })).default({}),
  }),
);

type CountsFile = z.output<ReturnType<typeof countsFile>>;

/** The count of a run, in rows. */
export type Count = z.output<ReturnType<typeof count>>;

/** The counts of the run of an output, in rows: of the output, and of the lists that it was made from, by collection. */
export type OutputCount = z.output<ReturnType<typeof outputCount>>;

/** The counts of the last published runs: of lists, before any steps, and of outputs. */
export interface Counts {
  /** Returns the rows of a list, from the last run of this pipeline that read it, or of any pipeline with this state folder. */
  ofList(collection: string): Count | undefined;
  /** Returns the rows of an output of this pipeline. @param path With placeholders for what is unknown before a run. */
  ofOutput(path: string): OutputCount | undefined;
  /** Returns whether the last run of an output of this pipeline filled it with a partial list. @param path As for `ofOutput`. */
  isPart(path: string): boolean;
  /**
   * Returns the counts of this run in the form in which they are stored.
   *
   * @param reads Rows of the lists that it read, by collection.
   * @param outputs Rows of its outputs, by path.
   */
  of(reads: OutputCount['reads'], outputs: ReadonlyMap<string, number>): RunCounts;
  /** Stores the counts of this run, once it is published. */
  keep(counts: RunCounts): Promise<void>;
}

/** Returns the counts of a run stopped by a limit, which only mark its outputs as partial. @param outputs By path. */
export function countsOfPart(run: string, outputs: Iterable<string>): RunCounts {
  return { sources: {}, outputs: {}, parts: Object.fromEntries([...outputs].map((path) => [path, { run }])) };
}

/** The counts of one run in the form in which they are stored; plain JSON. */
export type RunCounts = Omit<CountsFile, 'version'>;

interface CountsOptions {
  /** `<state-dir>/counts`; created if missing, private (0700). */
  readonly folder: string;
  readonly pipeline: string;
  readonly run: string;
  readonly connection: Pick<ConnectOptions, 'baseUrl' | 'auth'>;
  /** Lists that may be queried. */
  readonly collections: readonly Collection[];
  readonly events: Events;
}

/** Counts for runs that only print: nothing is known, and nothing is stored. */
export const noCounts: Counts = {
  ofList: () => undefined,
  ofOutput: () => undefined,
  isPart: () => false,
  of: () => ({ sources: {}, outputs: {}, parts: {} }),
  keep: () => Promise.resolve(),
};

/**
 * Opens the counts of earlier runs. A file that cannot be read causes a warning, and is treated as missing.
 *
 * @throws {SinkError} `E_SINK_PATH` if the folder cannot be created.
 */
export async function openCounts({ folder, pipeline, run, connection, collections, events }: CountsOptions): Promise<Counts> {
  const { baseUrl, auth } = connection;
  const key = await inState('E_SINK_PATH', `cannot store counts in ${folder}`, async () => {
    await makePrivate(folder);
    await removeTemporaries(folder, (name) => name.endsWith(ending));
    return accountKey(folder);
  });
  const names = new Map(collections.map((list) => [list.name, countedName({ baseUrl, account: accountOf(auth), collection: list }, key)]));
  const nameOf = (collection: string) => names.get(collection) ?? notRead(collection);
  const own = await read(pathOf(folder, pipeline), events);
  const missing = [...names.values()].filter((name) => !own.sources[name]);
  const others = missing.length > 0 ? await readOthers(folder, pipeline, events) : [];

  return {
    ofList: (collection) => {
      const name = nameOf(collection);
      return own.sources[name] ?? newest(others.flatMap(({ sources }) => sources[name] ?? []));
    },
    ofOutput: (path) => own.outputs[path],
    isPart: (path) => own.parts[path] !== undefined,
    of: (reads, outputs) => ({
      sources: Object.fromEntries(Object.entries(reads).map(([collection, rows]) => [nameOf(collection), { rows, run }])),
      outputs: Object.fromEntries([...outputs].map(([path, rows]) => [path, { rows, run, reads }])),
      parts: {},
    }),
    keep: (counts) => keep(pathOf(folder, pipeline), run, counts, own),
  };
}

/**
 * Stores the counts of a run whose commit was recovered. If the existing file is damaged, nothing is stored, so that the next run reports it.
 *
 * @param folder `<state-dir>/counts`; created if missing, private (0700).
 * @param commit With counts from `Counts.of`; anything else is ignored.
 * @throws {SinkError} `E_SINK_PATH`.
 * @throws {LeadstreamError} `E_RUN_LOCKED` if others hold the counts for too long.
 */
export async function keepRecovered(folder: string, commit: LoggedCommit): Promise<void> {
  const { pipeline, runId } = commit;
  const counts = countsFile().omit({ version: true }).safeParse(commit.counts).data;
  if (counts === undefined || basename(pipeline) !== pipeline) return;
  await inState('E_SINK_PATH', `cannot store counts in ${folder}`, async () => {
    await makePrivate(folder);
    await keep(pathOf(folder, pipeline), runId, counts);
  });
}

/**
 * Adds to the current counts, since a run of the same pipeline with other outputs may have stored some in the meantime.
 *
 * @param instead Replaces a damaged file. Default: none, and nothing is stored.
 */
async function keep(path: string, run: string, counts: RunCounts, instead?: CountsFile): Promise<void> {
  await inTurn(path, run, async () => {
    const own = await parsed(path).catch(() => instead);
    if (own !== undefined) await write(path, own, counts);
  });
}

async function write(path: string, own: CountsFile, counts: RunCounts): Promise<void> {
  const parts = Object.entries(own.parts).filter(([path]) => counts.outputs[path] === undefined);
  const kept: CountsFile = {
    version: 1,
    sources: latest({ ...own.sources, ...counts.sources }),
    outputs: latest({ ...own.outputs, ...counts.outputs }),
    parts: latest({ ...Object.fromEntries(parts), ...counts.parts }),
  };
  await replaceFile(path, `${JSON.stringify(kept, undefined, 2)}\n`, 0o600, true);
}

function notRead(collection: string): never {
  throw new Error(`${collection} is not read`);
}

/** Maximum number of entries, since services and outputs come and go. */
const maxKept = 100;

function latest<C extends Pick<Count, 'run'>>(counts: Readonly<Record<string, C>>): Record<string, C> {
  const entries = Object.entries(counts);
  if (entries.length <= maxKept) return { ...counts };
  return Object.fromEntries(entries.sort(([, a], [, b]) => (a.run < b.run ? 1 : -1)).slice(0, maxKept));
}

/** Returns the newest count, as run ids sort by time. */
function newest(counts: readonly Count[]): Count | undefined {
  return counts.toSorted((a, b) => (a.run < b.run ? 1 : -1))[0];
}

const ending = '.json';

function pathOf(folder: string, pipeline: string): string {
  return join(folder, pipeline + ending);
}

async function readOthers(folder: string, pipeline: string, events: Events): Promise<readonly CountsFile[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(ending) && name !== pipeline + ending);
  return Promise.all(names.map((name) => read(join(folder, name), events)));
}

async function read(path: string, events: Events): Promise<CountsFile> {
  try {
    return await parsed(path);
  } catch (failure) {
    const reason = errnoOf(failure) === undefined ? 'it is damaged' : reasonOf(failure);
    events.warn({
      code: 'W_RUN_COUNTS',
      message: `cannot read the counts of earlier runs from ${path}: ${reason}; nothing is compared with them`,
    });
    return nothing;
  }
}

const nothing: CountsFile = { version: 1, sources: {}, outputs: {}, parts: {} };

/** Reads a file; returns empty counts if it is missing. @throws If it cannot be read, or is damaged. */
async function parsed(path: string): Promise<CountsFile> {
  const text = await readOwn(path);
  return text === undefined ? nothing : countsFile().parse(JSON.parse(text));
}
