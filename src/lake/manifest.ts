import type { z } from 'zod';
import { jsonIn } from '../store/index.js';
import { tableKinds } from './partitions.js';
import { declaredTypes, schema, type OutputColumn } from '../core/index.js';
import { sinceShape, type SinceState } from './since.js';

/**
 * What the rows of a run do to a table: replace it (`replace`), replace the partitions that they fall into (`replace_partitions`), are
 * added unless the table already has their key (`append`), or take the place of those of their key that differ (`merge`).
 */
export const modes = ['replace', 'replace_partitions', 'append', 'merge'] as const;

/** Names of the data files of a plain table of this machine, with the folders of their partition. */
export const dataFileName = /^((?:[^/=]+=[^/]+\/)*)(part-\d{5,})-([\w-]+)\.parquet$/;

/** Names in a table: ours, and those of writers that compacted one on a store, to other folders in Delta. */
const storedName = /^(?:(?!\.{1,2}\/)[^/\0]+\/)*[^/\0]+\.parquet(?:\.stored)?$/;

/**
 * Returns the name of a data file in a table on a store. It never changes, whatever runs keep the file.
 *
 * @param isViewed Whether readers have links to the files of one run, as in `view.ts`: a glob for `*.parquet` must find nothing else.
 */
export function storedNameOf(run: string, folder: string, index: number, isViewed: boolean): string {
  const file = `part-${String(index).padStart(5, '0')}.parquet${isViewed ? '.stored' : ''}`;
  return ['data', run, ...(folder === '' ? [] : [folder]), file].join('/');
}

/** Returns the name of a data file in a plain table of this machine, as readers see it in the folder of the table. */
export function dataFileNameOf(run: string, folder: string, index: number): string {
  return `${folder === '' ? '' : `${folder}/`}part-${String(index).padStart(5, '0')}-${run}.parquet`;
}

/** Returns the name under which such a file is stored. */
export function storedKeyOf(name: string): string {
  const [, folders = '', part, run] = dataFileName.exec(name) ?? [];
  return part === undefined ? name : `data/${run}/${folders}${part}.parquet.stored`;
}

/** Returns the folder of the partition that a data file belongs to: `a=1/b=x`, empty without partitions. */
export function folderOf({ name, folder }: { readonly name: string; readonly folder?: string | undefined }): string {
  const levels = name.split('/').slice(0, -1);
  return folder ?? levels.slice(levels[0] === 'data' ? 2 : 0).join('/');
}

/** The columns in files and in names of folders, as readers see them. Files of Iceberg, and files without rows, have all. */
export function fileColumns({ schema: all, partition_by: by, table }: Manifest, hasFolders: boolean) {
  if (table === 'iceberg') return { columns: all, folders: [] };
  const columns = all.filter(({ field }) => !by.includes(field));
  const folders = by.map((field) => ({ name: field, type: all.find((column) => column.field === field)?.type ?? 'date' }));
  return hasFolders ? { columns, folders } : { columns: [...columns, ...folders], folders: [] };
}

/** Whether a column holds another field of the service than before. One that a step computes, or that is named as its field, may. */
export function isOtherField({ field, original }: OutputColumn, before: string): boolean {
  return original !== before && original !== field;
}

const count = schema((z) => z.number().int().nonnegative());

export const manifestShape = schema((z) =>
  z.object({
    version: z.literal(1),
    table: z.enum(tableKinds).default('plain'),
    run_id: z.string(),
    pipeline: z.string().describe('Name of the pipeline.'),
    fingerprint: z.string().describe('SHA-256 of the pipeline without credentials; empty for a table written in code.'),
    service: z.string().optional().describe('Address of the service; absent for a table written in code.'),
    account: z.string().optional().describe('Tells accounts apart: 64 bits of a digest of the user id, or 16 of that of a key.'),
    collection: z.string(),
    started_at: z.string(),
    finished_at: z.string(),
    pages: count().describe('Pages of the service that were read.'),
    consistency: z.string().describe('The outcome of the check for completeness.'),
    partial: z.boolean().optional().describe('Whether a limit stopped the read, so that the table is incomplete.'),
    scope: z.literal('since').optional().describe('Present if only the end of the list was read, as `since` allows.'),
    since: sinceShape().optional().describe('Where the next run of a pipeline with `since` begins, and what has to be the same then.'),
    mode: z.enum(modes),
    replaced: z.string().optional().describe('The run published before; a rollback returns to it.'),
    compacted: z.boolean().optional().describe('Whether the run only rewrote files of the one that it replaced, of which the counts are.'),
    partition_by: z.array(z.string()).describe('Fields whose values are in the names of folders; for Iceberg, also in the files.'),
    rows: count().describe('Rows of all files.'),
    bytes: count().describe('Bytes of all files.'),
    /**
     * Rows of this run: written; unchanged, left out because the table has their key; changed, those of the table with different content:
     * unchanged ones for append, written ones for merge.
     */
    run: z.object({
      written: count(),
      unchanged: count(),
      changed: count(),
      merged: z
        .object({
          ...{ before: count(), inserted: count(), changed: count(), unchanged: count(), deleted: count() },
          ...{ closed: count().optional(), marked: count().optional(), rewritten: count() },
        })
        .optional()
        .describe('Of a merge: rows before; what became of them and of those of the run; those written again because of others.'),
    }),
    files: z.array(
      z.object({
        name: z.string().refine((name) => storedName.test(name)),
        rows: count(),
        bytes: count(),
        /** Unknown, like the run, for a file that another writer made of ours. */
        sha256: z.string().optional(),
        /** The run that wrote the file. */
        written_by: z.string().optional(),
        /** Its partition, if the name does not tell. */
        folder: z.string().optional(),
      }),
    ),
    schema: z.array(
      z.object({ name: z.string(), field: z.string(), original: z.string(), type: z.enum(declaredTypes), comment: z.string().optional() }),
    ),
    /** Fields that the service returns but does not document, and that have or will have a column. */
    undeclared: z.array(z.object({ name: z.string(), original: z.string() })),
    reads: z.record(z.string(), count()).describe('Rows of all lists that were read, by collection, including rows that were not written.'),
    /** Index of the keys of all rows, needed by `append` and `merge`. */
    keys: z
      .object({
        columns: z.array(z.string()),
        rows: count(),
        bytes: count(),
        sha256: z.string(),
        ignored: z.array(z.string()).optional().describe('Columns that are not compared.'),
        located: z.boolean().optional().describe('Whether it has the place of each file in `files`.'),
      })
      .optional(),
    history: z
      .object({ boundary: z.string(), key: z.array(z.string()) })
      .optional()
      .describe('Of a table with all versions of its rows: when those of this run began, and the columns that identify a row.'),
    success_file: z.boolean().describe('Whether the folder has a file `_SUCCESS`.'),
    output: z.string().describe('Name of the sink in `books`.'),
    books: z.record(z.string(), z.unknown()).describe('Row counts of this run, by sink; empty for a table written in code.'),
  }),
);

export const bookedRows = schema((z) => z.object({ written: count(), unchanged: count() }));

/**
 * The content of `_leadstream/runs/<run>.json`. `files` are all files of the table, by the names that readers see while the run
 * is published; `rows` and `bytes` are their sums.
 */
export type Manifest = z.output<ReturnType<typeof manifestShape>>;

export type ManifestFile = Manifest['files'][number];

/** A data file that readers see. Its name is relative to the root. */
export type LiveFile = Readonly<Pick<ManifestFile, 'name' | 'rows' | 'bytes' | 'folder'>>;

export function manifestIn(text: string): Manifest | undefined {
  return manifestShape().safeParse(jsonIn(text)).data;
}

/** The manifest of the newest run, with the files that another writer has made of its files since. */
export function withLive(manifest: Manifest, { files }: { readonly files: readonly LiveFile[] }): Manifest {
  const known = new Map(manifest.files.map((file) => [file.name, file]));
  if (files.length === known.size && files.every(({ name }) => known.has(name))) return manifest;
  const { keys: _, ...rest } = manifest;
  return { ...rest, bytes: sumOf(files, 'bytes'), files: files.map((file) => known.get(file.name) ?? { ...file }) };
}

export function sumOf(files: readonly Pick<ManifestFile, 'rows' | 'bytes'>[], what: 'rows' | 'bytes'): number {
  return files.reduce((total, file) => total + file[what], 0);
}

/** Whether two runs of a table have the same rows, in files of the same content. */
export function isRepeated(one: Manifest, other: Manifest): boolean {
  const contentOf = ({ schema, partition_by: by, partial, undeclared, files }: Manifest) =>
    JSON.stringify([
      schema,
      by,
      partial,
      undeclared,
      files.map(({ name, written_by: run = '', sha256 }) => [name.replaceAll(run, ''), sha256]),
    ]);
  return contentOf(one) === contentOf(other);
}

/** A field that the service returns but does not document. */
export interface UndeclaredField {
  /** Name in rows at the start of the chain. */
  readonly name: string;
  /** The service's own name. */
  readonly original: string;
}

/** What a destination holds now, according to its manifest. */
export interface Published {
  readonly runId: string;
  readonly rows: number;
  readonly columns: readonly OutputColumn[];
  /** `RunFacts.undeclared` of the run that published it. */
  readonly undeclared: readonly UndeclaredField[];
  /** `RunFacts.reads` of the run that published it. */
  readonly reads: Readonly<Record<string, number>>;
  /** Whether it is incomplete because a limit stopped the read. */
  readonly partial: boolean;
  readonly since?: SinceState | undefined;
}

/** What a manifest says about its whole run. */
export interface RunFacts {
  readonly pipeline: string;
  /** SHA-256 of the pipeline's specification without secrets, in hexadecimal. */
  readonly fingerprint: string;
  /** Address of the service, without credentials. */
  readonly service?: string;
  /** `accountMark` of its credentials. */
  readonly account?: string;
  readonly collection: string;
  readonly pages: number;
  readonly startedAt: string;
  /** The outcome of the check for completeness. */
  readonly consistency: string;
  /** Whether a limit stopped the read. */
  readonly partial?: boolean;
  /** Whether only the end of the list was read. */
  readonly scope?: 'since' | undefined;
  readonly since?: SinceState | undefined;
  /** Row counts, by sink. */
  readonly books: Readonly<Record<string, unknown>>;
  /** Undeclared fields that were columns of this run or appeared too late for that. The next run has columns for all of them. */
  readonly undeclared?: readonly UndeclaredField[];
  /** Rows of all lists that were read, by collection. */
  readonly reads?: Readonly<Record<string, number>>;
}
