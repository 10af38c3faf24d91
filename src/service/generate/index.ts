import { collectionNames, generatedNames, generatedRows } from '../../collections/index.js';
import { byName, defined, LeadstreamError } from '../../core/index.js';
import { checkUsage, number, object } from '../../options/index.js';
import type { DataSource } from '../source.js';
import { generators } from './generators.js';
import { keepingRows } from './kept-rows.js';
import { Draw } from './random.js';
import { createWorld } from './world.js';

/** Number of rows of each collection that is generated in any size. */
type GivenRows = { readonly [N in keyof typeof generatedRows]?: number };

/** How many rows to generate, and from which seed. */
export interface GenerateOptions extends GivenRows {
  /** A whole number, of which 32 bits are used. Default 1. */
  readonly seed?: number;
}

const count = number({ whole: true, min: 0 });
const taken = object({ ...byName(generatedNames, () => count), seed: number({ whole: true }) });

/**
 * Generates consistent rows without anybody's data. The same options generate the same rows in every process.
 *
 * A row is computed from the seed and its position when it is first requested. Rows are kept as long as those kept have at most 33,554,432 characters in total.
 * Zipcodes, cities and area codes are real and are loaded with the first lead or area code (150 ms); there are about 30,000 area code entries. Every value can be
 * cast to its declared type.
 *
 * @throws {LeadstreamError} `E_USAGE` for a number that is negative or not whole, or for rows without an owner.
 *
 * @example
 * const source = generate({ leads: 1_000_000, seed: 7 });
 * source.leads.row(999_999); // '{"lead_id":"10999997",…}'
 */
export function generate(options: GenerateOptions = {}): DataSource {
  checkUsage('generate', taken, options);
  const { seed = 1, ...given } = options;
  const counts = { ...generatedRows, ...defined(given) };
  for (const name of generatedNames) {
    const { owner } = generators[name];
    if (owner !== undefined && counts[name] > 0 && counts[owner] === 0)
      throw new LeadstreamError('E_USAGE', `${name} need at least one row of ${owner}`);
  }
  const world = createWorld(seed, counts, generators);
  const room = { left: 1 << 25 };
  return byName(collectionNames, (name) => {
    const { purpose, table } = generators[name];
    return keepingRows(table(world, new Draw(seed, purpose)), room);
  });
}
