import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { amount, amountOf, GateError } from '../core/index.js';
import { inPlace } from '../store/index.js';
import type { ManifestFile } from './manifest.js';

/**
 * Checks cheaply that retained files match the table's manifest: each must be a regular file of the right size, with the start and end of a Parquet file.
 * Digests are not compared, since that would read the whole table in every run. `verify` does so.
 *
 * @throws {GateError} `E_GATE_VERIFY` with the file.
 */
export async function checkRetained(at: string, folder: string, files: readonly ManifestFile[]): Promise<void> {
  for (const { name, bytes } of files) {
    const fault = await faultOf(join(folder, name), bytes).catch((thrown: unknown) => `cannot be read: ${String(thrown)}`);
    if (fault === undefined) continue;
    throw new GateError('E_GATE_VERIFY', `${at}: ${join(folder, name)} ${fault}, so it is not reused; see leadstream verify`);
  }
}

async function faultOf(path: string, bytes: number): Promise<string | undefined> {
  const file = await open(path, inPlace);
  try {
    const found = await file.stat();
    if (!found.isFile()) return 'is not a regular file';
    if (found.size !== bytes) return `has ${amountOf(found.size, 'byte')}, but its manifest says ${amount(bytes)}`;
    const ends = Buffer.alloc(2 * magic.length);
    await file.read(ends, 0, magic.length, 0);
    await file.read(ends, magic.length, magic.length, Math.max(0, bytes - magic.length));
    return ends.toString('latin1') === magic + magic ? undefined : 'is not a Parquet file';
  } finally {
    await file.close();
  }
}

const magic = 'PAR1';
