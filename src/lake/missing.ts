import type { SourcePresence } from '../core/index.js';
import type { Vector } from '../vector/index.js';
import type { FieldIds } from './format.js';
import { type KeyIndex, readRows } from './keys.js';
import type { ManifestFile } from './manifest.js';
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
  index: KeyIndex,
  { presence, key, maxDeleted, fieldIds }: MissingOptions,
): Promise<void> {
  const { at, last } = landing;
  const { shape } = index;
  const columns = key.map((name) => shape.columns.findIndex((column) => column.name === name));
  const missing = new MissingRows(at, presence);
  const take = ({ name }: ManifestFile, rows: number, vectors: readonly Vector[]) => {
    const keyAt = shape.keysOf(vectors);
    for (let row = 0; row < rows; row += 1) {
      const text = keyAt(row) ?? '';
      if (!index.isUnseen(text, name)) continue;
      const source = columns.map((column) => String(vectors[column]?.value(row)));
      const state = missing.take(text, source);
      if (state !== 'rejected') index.mark(text, state === 'read' ? 'gone' : 'unread');
    }
  };
  await readRows(landing, index.unseen(), shape, fieldIds, take, shape.keyInFiles);
  const verdict = await missing.verdict(last);
  if (verdict === true) index.deleteUnread();
  else if (verdict) for (const [text, isMissing] of verdict) if (isMissing) index.mark(text, 'gone');
  missing.refuseMany(index.deleted, maxDeleted, index.unmarkedBefore());
}
