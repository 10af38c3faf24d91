import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { z } from 'zod';
import { reasonOf, schema } from '../core/index.js';
import type { Events } from '../events/index.js';
import type { UndeclaredField } from '../lake/index.js';
import { errnoOf, inTurn, type LoggedCommit, makePrivate, readOwn, removeTemporaries, replaceFile } from '../store/index.js';
import { accountKey, countedName, inState } from '../source/index.js';

const count = schema((z) => z.object({ rows: z.number().int().nonnegative(), run: z.string() }));

const outputCount = schema((z) =>
  count().extend({
    reads: z.record(z.string(), z.number().int().nonnegative()).default({}),
    /** As in a manifest. */
    undeclared: z.array(z.object({ name: z.string(), original: z.string() })).default([]),
  }),
);

const countsFile = schema((z) =>
  z.object({
    version: z.literal(1),
    sources: z.record(z.string(), count()),
    /** By path; with the rows of the lists that they were made from, by collection. */
    outputs: z.record(z.string(), outputCount()),
    /** Outputs whose last run had a limit, so that nothing was counted. */
    parts: z.record(z.string(), z.object({ run: z.string() })).default({}),
  }),
);

type CountsFile = z.output<ReturnType<typeof countsFile>>;

export type RunCounts = Omit<CountsFile, 'version'>;

export type Count = z.output<ReturnType<typeof count>>;

export type OutputCount = z.output<ReturnType<typeof outputCount>>;

const nothing: CountsFile = { version: 1, sources: {}, outputs: {}, parts: {} };

/** The counts of the last published runs. Paths have placeholders for what is unknown before a run. */
export class Counts {
  private constructor(
    private readonly path: string,
    private readonly run: string,
    /** Of this run's lists, as in the files, by collection. */
    private readonly names: ReadonlyMap<string, string>,
    private readonly own: CountsFile,
    /** Of other pipelines in this state folder. */
    private readonly others: readonly CountsFile[],
  ) {}

  /** Creates the private (0700) folder if missing. An unreadable file causes a warning, and counts as missing. */
  static async open(
    folder: string,
    { pipeline, run, events }: { readonly pipeline: string; readonly run: string; readonly events: Events },
    lists: readonly Parameters<typeof countedName>[0][],
  ): Promise<Counts> {
    const key = await inState('E_SINK_PATH', `cannot store counts in ${folder}`, async () => {
      await makePrivate(folder);
      await removeTemporaries(folder, (name) => name.endsWith(ending));
      return accountKey(folder);
    });
    const names = new Map(lists.map((list) => [list.collection.name, countedName(list, key)]));
    const path = pathOf(folder, pipeline);
    const own = await read(path, events);
    const isKnown = [...names.values()].every((name) => own.sources[name]);
    const files = isKnown ? [] : (await readdir(folder)).filter((name) => name.endsWith(ending) && name !== pipeline + ending);
    return new Counts(path, run, names, own, await Promise.all(files.map((name) => read(join(folder, name), events))));
  }

  /** From the last run of this pipeline that read the list, otherwise of any with this state folder. */
  ofList(collection: string): Count | undefined {
    const name = this.#nameOf(collection);
    const others = this.others.flatMap(({ sources }) => sources[name] ?? []);
    // Run ids sort by time.
    return this.own.sources[name] ?? others.toSorted((a, b) => (a.run < b.run ? 1 : -1))[0];
  }

  ofOutput(path: string | undefined): OutputCount | undefined {
    return path === undefined ? undefined : this.own.outputs[path];
  }

  isPart(path: string): boolean {
    return this.own.parts[path] !== undefined;
  }

  ofPart(outputs: Iterable<string>): RunCounts {
    const { run } = this;
    return { sources: {}, outputs: {}, parts: Object.fromEntries([...outputs].map((path) => [path, { run }])) };
  }

  of(reads: OutputCount['reads'], outputs: ReadonlyMap<string, number>, undeclared: readonly UndeclaredField[]): RunCounts {
    const { run } = this;
    return {
      sources: Object.fromEntries(Object.entries(reads).map(([collection, rows]) => [this.#nameOf(collection), { rows, run }])),
      outputs: Object.fromEntries([...outputs].map(([path, rows]) => [path, { rows, run, reads, undeclared: [...undeclared] }])),
      parts: {},
    };
  }

  keep(counts: RunCounts): Promise<void> {
    return keep(this.path, this.run, counts, this.own);
  }

  #nameOf(collection: string): string {
    const name = this.names.get(collection);
    if (name === undefined) throw new Error(`${collection} is not read`);
    return name;
  }
}

/** After recovery. A damaged file stays, so that the next run reports it. */
export async function keepRecovered(folder: string, { pipeline, runId, counts }: LoggedCommit): Promise<void> {
  const { data } = countsFile().omit({ version: true }).safeParse(counts);
  if (data === undefined || basename(pipeline) !== pipeline) return;
  await inState('E_SINK_PATH', `cannot store counts in ${folder}`, async () => {
    await makePrivate(folder);
    await keep(pathOf(folder, pipeline), runId, data);
  });
}

/** Adds to the counts, of which another run may have stored some. @param instead Replaces a damaged file. Default: nothing is stored. */
async function keep(path: string, run: string, counts: RunCounts, instead?: CountsFile): Promise<void> {
  await inTurn(path, run, async () => {
    const own = await parsed(path).catch(() => instead);
    if (own === undefined) return;
    const parts = Object.entries(own.parts).filter(([output]) => counts.outputs[output] === undefined);
    const kept: CountsFile = {
      version: 1,
      sources: { ...own.sources, ...counts.sources },
      outputs: { ...own.outputs, ...counts.outputs },
      parts: { ...Object.fromEntries(parts), ...counts.parts },
    };
    await replaceFile(path, `${JSON.stringify(kept, undefined, 2)}\n`, 0o600, true);
  });
}

const ending = '.json';

function pathOf(folder: string, pipeline: string): string {
  return join(folder, pipeline + ending);
}

async function read(path: string, events: Events): Promise<CountsFile> {
  try {
    return await parsed(path);
  } catch (failure) {
    const reason = errnoOf(failure) === undefined ? 'it is damaged' : reasonOf(failure);
    const message = `cannot read the counts of earlier runs from ${path}: ${reason}; nothing is compared with them`;
    events.warn({ code: 'W_RUN_COUNTS', message });
    return nothing;
  }
}

/** @throws If it is unreadable or damaged. A missing file is empty. */
async function parsed(path: string): Promise<CountsFile> {
  const text = await readOwn(path);
  return text === undefined ? nothing : countsFile().parse(JSON.parse(text));
}
