import { describe } from '@jest/globals';
import { compactTests } from '../../contracts/compact.js';
import { damagedTests } from '../../contracts/damaged.js';
import { storeTableTests } from '../../contracts/store-tables.js';
import { here } from '../../support/tested-table.js';

describe.each(here)('a table (%s) in a %s', storeTableTests);
describe.each([['plain', 'folder'], ...here] as const)('a table (%s) in a %s that is compacted', compactTests);
describe.each([['plain', 'disk'], ...here] as const)('a table of five nights (%s) in a %s', damagedTests);
