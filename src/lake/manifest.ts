import type { z } from 'zod';
import { readRegular } from '../store/index.js';
import { declaredTypes, schema } from '../core/index.js';

/**
 * What the rows of a run do to a table: they become it (`replace`), they become those of its partitions that they fall into
 * (`replace_partitions`), or they are added as far as the table does not have their key (`append`).
 */
export const modes = ['replace', 'replace_partitions', 'append'] as const;

/** Names of the data files of a table, behind the folders of their partition; a manifest with others is not followed. */
export const dataFileName = /^(?:[^/=]+=[^/]+\/)*part-\d{5,}-[\w-]+\.parquet$/;

/** Name of a data file. @param index 0-based number of it in its run. */
export function dataFileNameOf(run: string, index: number): string {
  return `part-${String(index).padStart(5, '0')}-${run}.parquet`;
}

const count = schema((z) => z.number().int().nonnegative());

const manifest = schema((z) =>
  z.object({
    version: z.literal(1),
    run_id: z.string(),
    pipeline: z.string(),
    fingerprint: z.string(),
    collection: z.string(),
    started_at: z.string(),
    finished_at: z.string(),
    pages: count(),
    consistency: z.string(),
    /** Whether a limit stopped the read, so that the table holds a part. */
    partial: z.boolean().optional(),
    mode: z.enum(modes),
    /** The run that was published before; a rollback returns to it. */
    replaced: z.string().optional(),
    /** Fields whose values are in the names of folders, not in the files. */
    partition_by: z.array(z.string()),
    rows: count(),
    bytes: count(),
    /** Rows of this run: written; unchanged, left out because the table has their key; changed, those of the unchanged with other content. */
    run: z.object({ written: count(), unchanged: count(), changed: count() }),
    /** `written_by` is the run that wrote the rows; a later one that keeps the file gives it another name. */
    files: z.array(
      z.object({ name: z.string().regex(dataFileName), rows: count(), bytes: count(), sha256: z.string(), written_by: z.string() }),
    ),
    schema: z.array(z.object({ name: z.string(), field: z.string(), original: z.string(), type: z.enum(declaredTypes) })),
    /** Fields of the service that its document does not list and that have, or will have, a column. */
    undeclared: z.array(z.object({ name: z.string(), original: z.string() })).default([]),
    /** Rows of all lists that were read, by collection, whatever became of them. */
    reads: z.record(z.string(), count()).default({}),
    /** Index of the keys of all rows, which `append` needs. */
    keys: z.object({ columns: z.array(z.string()), rows: count(), bytes: count(), sha256: z.string() }).optional(),
    /** Whether the folder has a file `_SUCCESS`. */
    success_file: z.boolean(),
    /** Name of the sink in `books`. */
    output: z.string(),
    /** What became of the rows of this run, by sink; empty for a table that was written in code. */
    books: z.record(z.string(), z.unknown()),
  }),
);

/** What the books of a sink say of its rows. */
export const bookedRows = schema((z) => z.object({ written: count(), unchanged: count() }));

/**
 * What `<run>.manifest.json` beside the folder of a run says. `rows` and `bytes` are the sums over `files`, which are all files of the table,
 * also those that earlier runs wrote; they carry the names that they have while the run is the published one.
 */
export type Manifest = z.output<ReturnType<typeof manifest>>;

/** A file of a table. */
export type ManifestFile = Manifest['files'][number];

/**
 * Reads a manifest; `undefined` when the file is missing or not one of ours.
 *
 * @example
 * const manifest = await readManifest('copied/manifest.json'); // undefined for what is none
 */
export async function readManifest(path: string): Promise<Manifest | undefined> {
  return readRegular(path).then(
    (bytes) => manifestIn(bytes.toString('utf8')),
    () => undefined,
  );
}

/** The manifest that a text is; `undefined` when it is none of ours. */
export function manifestIn(text: string): Manifest | undefined {
  try {
    return manifest().safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
