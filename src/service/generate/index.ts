import { collectionNames, collections, generatedNames, generatedRows, originalName, type Collection } from '../../collections/index.js';
import { byName, defined, LeadstreamError } from '../../core/index.js';
import type { DataSource, ServedTable } from '../answer.js';
import { areaCodeEntries, areaCodeRow, bridgeRows, userRows, linkRows, leadRows } from './rows.js';
import { Draw, numbering, type FullRow, type World } from './world.js';

/** How many rows to generate, and from which seed. */
export interface GenerateOptions extends Partial<Readonly<Record<keyof typeof generatedRows, number>>> {
  /** A whole number, of which 32 bits are used. Default 1. */
  readonly seed?: number;
}

/** Purposes separate draws; 5 to 8 have others. */
const generators = {
  leads: { purpose: 1, first: 4_000_000, step: 7, owner: 'bridges', rows: leadRows },
  bridges: { purpose: 2, first: 1000, step: 3, owner: 'users', rows: bridgeRows },
  links: { purpose: 3, first: 50_000, step: 5, owner: 'bridges', rows: linkRows },
  users: { purpose: 4, first: 100, step: 4, owner: 'users', rows: userRows },
} as const;

/**
 * Generates consistent rows without anybody's data: the same for the same options, in every process. Each is computed at the first request
 * and kept, up to 33,554,432 characters. Zipcodes and cities are real and are loaded with the first lead or area code (150 ms).
 *
 * @throws {LeadstreamError} `E_USAGE` for a number that is negative or not whole, or for rows without an owner.
 *
 * @example
 * const source = generate({ leads: 1_000_000, seed: 7 });
 * source.leads.row(999_999); // '{"lead_id":"10999997",…}'
 */
export function generate({ seed = 1, ...given }: GenerateOptions = {}): DataSource {
  const counts = { ...generatedRows, ...defined(given) };
  for (const name of generatedNames) {
    const { owner } = generators[name];
    if (!Number.isSafeInteger(counts[name]) || counts[name] < 0)
      throw new LeadstreamError('E_USAGE', `${name} must be a whole number, at least 0`);
    if (counts[name] > 0 && counts[owner] === 0) throw new LeadstreamError('E_USAGE', `${name} need at least one row of ${owner}`);
  }
  const ids = byName(generatedNames, (name) => numbering({ seed, ...generators[name], count: counts[name] }));
  const world: World = { seed, counts, ids };
  const room = { left: 1 << 25 };
  return byName(collectionNames, (name) => {
    if (name === 'areacodes') return keepingRows(areaCodeTable(seed), room);
    const draw = new Draw(seed, generators[name].purpose);
    const [rowOf, write] = [generators[name].rows(world, draw), rowWriter(collections[name])];
    const row = (index: number): string => {
      draw.seek(index);
      return write(rowOf(index));
    };
    return keepingRows({ count: counts[name], row, find: ids[name].find }, room);
  });
}

function areaCodeTable(seed: number): ServedTable {
  const write = rowWriter(collections.areacodes);
  return {
    get count() {
      return areaCodeEntries().length;
    },
    row: (index) => write(areaCodeRow(seed, index)),
    find: (id) => areaCodeEntries().flatMap(({ code }, index) => (code === id ? [index] : [])),
  };
}

function rowWriter<C extends Collection>({ fields }: C): (row: FullRow<C>) => string {
  const names = Object.entries(fields).map(([column, field]) => [column, JSON.stringify(originalName(column, field))] as const);
  return (row) => `{${names.map(([column, name]) => `${name}:${JSON.stringify(row[column])}`).join(',')}}`;
}

/** Most rows are read more than once, and computing one takes several times as long as sending it. */
function keepingRows(table: ServedTable, room: { left: number }): ServedTable {
  const kept = new Map<number, string>();
  return {
    get count() {
      return table.count;
    },
    find: table.find,
    row: (index) => {
      const text = kept.get(index) ?? table.row(index);
      if (!kept.has(index) && text.length <= room.left) {
        room.left -= text.length;
        kept.set(index, text);
      }
      return text;
    },
  };
}
