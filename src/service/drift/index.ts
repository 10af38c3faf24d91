import type { z } from 'zod';
import { schema } from '../../core/index.js';
import { collectionNames, type CollectionName } from '../../collections/index.js';
import type { View } from '../answer.js';
import { Draw, purposes } from '../generate/random.js';
import { readOptions, readTerms, share, someOf, whole } from '../options.js';
import type { DataSource } from '../source.js';
import { driftingTable, type Change, type DriftingTable } from './table.js';

export type { Change } from './table.js';

const driftSchema = schema((z) =>
  z
    .strictObject({
      every: whole(1).describe('One change after every N reads of the list'),
      chance: share().describe('Instead of every: the probability of a change between two reads'),
      changes: someOf(['insert-head', 'insert-tail', 'delete']).describe('What may happen; by default any of the three'),
      collections: someOf(collectionNames).describe('Where; by default leads'),
      most: whole(0).describe('Maximum number of changes per collection'),
    })
    .partial(),
);

/** How the lists change while they are read. Without `every` and `chance`, there is one change per 10 reads. */
export type DriftOptions = z.input<ReturnType<typeof driftSchema>>;

/** One change, made right before the answer to a request, which is the first to see it. */
export interface DriftEvent {
  /** Number of that request in the request log. */
  readonly sequence: number;
  readonly collection: CollectionName;
  readonly change: Change;
  /** Key of the row; values of several columns are joined by `|`. */
  readonly key: string;
  /** 0-based position in the list where the row was inserted or deleted. */
  readonly position: number;
}

/** What has changed since the service started. */
export interface Drift {
  /** Every change so far, in order. */
  readonly history: readonly DriftEvent[];
  /** Keys of the list as it is now, in its order. */
  keys(collection: CollectionName): readonly string[];
  /**
   * Keys, in no reliable order, of the rows that were in the list when request `from` was answered, and stayed until request `to` was. Both are numbers in the
   * request log; by default the first and the last.
   */
  survivors(collection: CollectionName, from?: number, to?: number): readonly string[];
}

/** A source as requests see it, and what has changed in it. */
export interface DriftingSource {
  readonly view: View;
  readonly drift: Drift;
}

/** Returns a source that never changes. */
export function still(source: DataSource): DriftingSource {
  return drifting(source, { most: 0 }, 0);
}

/**
 * Reads how lists change, from options or from `NAME=VALUE,…`.
 *
 * @throws {LeadstreamError} `E_USAGE` for invalid options.
 */
export function readDrift(given: DriftOptions | string): z.output<ReturnType<typeof driftSchema>> {
  return readOptions('drift', driftSchema(), typeof given === 'string' ? readTerms('drift', given.split(',')) : given);
}

/**
 * Changes lists between reads: rows are inserted at the head or the tail, and deleted anywhere. A read is a list request that gets as far as the data, probes
 * included, counted per collection.
 *
 * New rows are copies of others with a new key (9000000000 and up). Every change copies the positions of its list, so this is meant for lists of up to about
 * 20,000 rows.
 *
 * @param seed Determines when and what.
 * @throws {LeadstreamError} `E_USAGE` for invalid options.
 */
export function drifting(source: DataSource, given: DriftOptions | string, seed: number): DriftingSource {
  const options = readDrift(given);
  const { chance, every = 10, changes = ['insert-head', 'insert-tail', 'delete'], collections = ['leads'], most = Infinity } = options;
  const history: DriftEvent[] = [];
  const tables = new Map<CollectionName, DriftingTable>();
  const reads = new Map<CollectionName, number>();

  function tableOf(collection: CollectionName): DriftingTable {
    const table = tables.get(collection) ?? driftingTable(source[collection], collection);
    tables.set(collection, table);
    return table;
  }

  function changeBefore(collection: CollectionName, sequence: number): void {
    const read = reads.get(collection) ?? 0;
    reads.set(collection, read + 1);
    const draw = new Draw(seed, purposes.drift + 100 * collectionNames.indexOf(collection));
    draw.seek(read);
    const due = chance === undefined ? read % every === 0 : draw.below(1e6) < chance * 1e6;
    if (read === 0 || !due || history.filter((event) => event.collection === collection).length >= most) return;
    const change = changes[draw.below(changes.length)] ?? 'delete';
    const made = tableOf(collection).change(change, draw);
    if (made) history.push({ sequence, collection, change, ...made });
  }

  return {
    view: ({ collection, id, sequence }) => {
      if (most === 0 || !collections.includes(collection)) return source[collection];
      if (id === null) changeBefore(collection, sequence);
      return tableOf(collection).table;
    },
    drift: {
      history,
      keys: (collection) => tableOf(collection).keys(),
      survivors: (collection, from = 0, to = Infinity) => {
        const alive = new Set(tableOf(collection).firstKeys());
        for (const event of history.filter((each) => each.collection === collection && each.sequence <= to)) {
          if (event.change === 'delete') alive.delete(event.key);
          else if (event.sequence <= from) alive.add(event.key);
        }
        return [...alive];
      },
    },
  };
}
