import type { SourcePresence } from '../core/index.js';
import { readGroups } from '../parquet/index.js';
import { batchFromRows } from '../vector/index.js';
import type { FieldIds } from './format.js';
import { type KeyIndex, namesIn } from './keys.js';
import type { Manifest } from './manifest.js';
import { MissingRows } from './missing-rows.js';
import type { StoreRun } from './store-run.js';

interface MissingOptions {
  readonly presence: SourcePresence | undefined;
  /** Names of the columns of the collection's key, in its order. */
  readonly key: readonly string[];
  /** Share of the rows of the table before, without those marked as deleted. */
  readonly maxDeleted: number;
  readonly fieldIds: FieldIds | undefined;
}

/**
 * Finds the rows of a table that the run did not write, and notes in the index which of them are deleted: those that a step left out,
 * and those whose keys the source is proven not to have any more. Only the keys of files with such rows are read. Memory: `maxSingleReads`
 * keys.
 *
 * @throws {GateError} `E_GATE_MISSING` for too little evidence, `E_GATE_MERGE` for more than may be deleted.
 */
export async function deleteMissing(
  landing: StoreRun,
  before: Manifest,
  index: KeyIndex,
  { presence, key, maxDeleted, fieldIds }: MissingOptions,
): Promise<void> {
  const { at, last } = landing;
  const { shape } = index;
  const columns = key.map((name) => shape.columns.findIndex((column) => column.name === name));
  const missing = new MissingRows(at, presence);
  const unseen = index.unseen();
  for (const file of before.files) {
    if (!unseen.has(file.name)) continue;
    await landing.reading(file.name, async (path) => {
      const nameOf = await namesIn(path, fieldIds);
      for await (const rows of readGroups(path, shape.keyInFiles.map(nameOf))) {
        const vectors = shape.vectorsOf(batchFromRows(rows), file, nameOf);
        const keyAt = shape.keysOf(vectors);
        for (let row = 0; row < rows.length; row += 1) {
          const text = keyAt(row) ?? '';
          if (!index.isUnseen(text, file.name)) continue;
          const source = columns.map((column) => String(vectors[column]?.value(row)));
          const state = missing.take(text, source);
          if (state !== 'rejected') index.mark(text, state === 'read' ? 'gone' : 'unread');
        }
      }
    });
  }
  const verdict = await missing.verdict(last);
  if (typeof verdict === 'boolean') index.settle(verdict);
  else for (const [text, isMissing] of verdict) index.mark(text, isMissing ? 'gone' : 'stays');
  missing.refuseMany(index.deleted, maxDeleted, before.rows - index.markedBefore());
}
