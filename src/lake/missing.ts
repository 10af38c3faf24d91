import { amount, amountOf, compareShare, GateError, maxSingleReads, SinkError } from '../core/index.js';
import type { SourceKey, SourcePresence } from '../core/index.js';
import { readGroups } from '../parquet/index.js';
import { batchFromRows } from '../vector/index.js';
import type { FieldIds } from './format.js';
import { type KeyIndex, namesIn } from './keys.js';
import type { Manifest } from './manifest.js';
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
  const { at } = landing;
  if (!presence) throw new SinkError('E_SINK_CONFIG', `${at}: on_missing: delete needs a pipeline file, which knows what its source had`);
  const { shape } = index;
  const columns = key.map((name) => shape.columns.findIndex((column) => column.name === name));
  const candidates: { readonly text: string; readonly key: SourceKey }[] = [];
  const counts = { filtered: 0, unread: 0 };
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
          const state = presence.stateOf(source);
          if (state === 'rejected') continue;
          index.mark(text, state === 'read' ? 'gone' : 'unread');
          counts[state === 'read' ? 'filtered' : 'unread'] += 1;
          if (state === 'unread' && candidates.length <= maxSingleReads) candidates.push({ text, key: source });
        }
      }
    });
  }
  const { unread, filtered } = counts;
  const refused = (what: string, remedy = '') =>
    new GateError('E_GATE_MERGE', `${at}: ${what}; if that is right, run once with --accept-deletes${remedy}`);
  // Before anything is requested: a run that then deletes nothing would count as the last one.
  if (!presence.acceptDeletes && unread + filtered > 0) {
    const { last } = landing;
    const { of } = presence;
    if (last?.service !== of.service || last.account !== of.account || last.collection !== of.collection)
      throw refused(
        `${amountOf(unread + filtered, 'row')} of the table are missing, and the last run was of another service, account or list`,
      );
    const isChanged = last.fingerprint !== of.fingerprint;
    if (isChanged && filtered > 0)
      throw refused(`the pipeline is not the one of the last run, and its steps leave out ${amountOf(filtered, 'row')} of the table`);
    if (isChanged && unread > 0 && !presence.requests(unread))
      throw refused(`the pipeline is not the one of the last run, and its list lacks ${amountOf(unread, 'row')} of the table`);
  }
  const isMissing = await presence.missing(at, unread, unread > maxSingleReads ? [] : candidates.map((each) => each.key));
  // Beyond what is requested one by one, either all are missing or none.
  if (unread > maxSingleReads) index.settle(isMissing(0));
  else candidates.forEach(({ text }, place) => index.mark(text, isMissing(place) ? 'gone' : 'stays'));
  const { deleted } = index;
  if (presence.acceptDeletes || deleted === 0) return;
  const rows = before.rows - index.markedBefore();
  if (compareShare(deleted, maxDeleted, rows) > 0n)
    throw refused(
      `${amount(deleted)} of ${amountOf(rows, 'row')} would be deleted, which is more than max_deleted allows`,
      filtered > 0 || !presence.requests(unread) ? '' : ', or raise max_deleted',
    );
}
