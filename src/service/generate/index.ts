import { LeadstreamError } from '../../core/index.js';
import { checkUsage, number, object } from '../../options/index.js';
import type { DataSource } from '../source.js';
import { areacodesTable } from './areacodes.js';
import { bridgesTable } from './bridges.js';
import { keepingRows } from './kept-rows.js';
import { leadsTable } from './leads.js';
import { linksTable } from './links.js';
import { usersTable } from './users.js';
import { createWorld } from './world.js';

/** How much to generate, and from which seed. */
export interface GenerateOptions {
  /** Rows of leads; 100,000 by default. */
  readonly leads?: number;
  /** Rows of bridges; 200 by default. At least one when there are leads or links. */
  readonly bridges?: number;
  /** Rows of links; 400 by default. */
  readonly links?: number;
  /** Rows of users; 300 by default. At least one when there are bridges. */
  readonly users?: number;
  /** A whole number, of which 32 bits count; 1 by default. */
  readonly seed?: number;
}

const count = number({ whole: true, min: 0 });
const taken = object({ leads: count, bridges: count, links: count, users: count, seed: number({ whole: true }) });

/**
 * Made-up rows that hang together and hold nobody's data. The same options give the same rows in every process.
 *
 * A row is computed from the seed and its position when it is asked for, and kept as long as all that are kept have at most 33,554,432 characters. Zipcodes, cities
 * and area codes are real and load with the first lead or area code (150 ms); there are about 30,000 area code entries.
 * Every value casts to its declared type.
 *
 * @throws {LeadstreamError} `E_USAGE` for a number that is not whole or negative, or for rows without an owner.
 *
 * @example
 * const source = generate({ leads: 1_000_000, seed: 7 });
 * source.leads.row(999_999); // '{"lead_id":"10999997",…}'
 */
export function generate(options: GenerateOptions = {}): DataSource {
  checkUsage('generate', taken, options);
  const { leads = 100_000, bridges = 200, links = 400, users = 300, seed = 1 } = options;
  if (leads + links > 0 && bridges === 0) throw new LeadstreamError('E_USAGE', 'leads and links need at least one bridge');
  if (bridges > 0 && users === 0) throw new LeadstreamError('E_USAGE', 'bridges need at least one user');
  const world = createWorld(seed, { leads, bridges, links, users });
  const room = { left: 1 << 25 };
  return {
    leads: keepingRows(leadsTable(world), room),
    bridges: keepingRows(bridgesTable(world), room),
    areacodes: keepingRows(areacodesTable(world), room),
    links: keepingRows(linksTable(world), room),
    users: keepingRows(usersTable(world), room),
  };
}
