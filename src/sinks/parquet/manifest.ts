import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { declaredTypes } from '../../collections/index.js';

/** Names that this sink gives to the parts of a table; a manifest with others is not followed. */
export const partName = /^part-\d{5,}-[\w-]+\.parquet$/;

const manifest = z.object({
  version: z.literal(1),
  run_id: z.string(),
  pipeline: z.string(),
  fingerprint: z.string(),
  collection: z.string(),
  started_at: z.string(),
  finished_at: z.string(),
  pages: z.number(),
  consistency: z.string(),
  rows: z.number(),
  bytes: z.number(),
  files: z.array(z.object({ name: z.string().regex(partName), rows: z.number(), bytes: z.number(), sha256: z.string() })),
  schema: z.array(z.object({ name: z.string(), original: z.string(), type: z.enum(declaredTypes) })),
  books: z.record(z.string(), z.unknown()),
});

/**
 * What `_manifest.json` in the folder of a run says. `rows` and `bytes` are the sums over `files`; `files` carry the names
 * that they have while the run is the published one.
 */
export type Manifest = z.output<typeof manifest>;

/** Reads a manifest; `undefined` when the file is missing or not one of ours. */
export async function readManifest(path: string): Promise<Manifest | undefined> {
  try {
    return manifest.safeParse(JSON.parse(await readFile(path, 'utf8'))).data;
  } catch {
    return undefined;
  }
}
