import { describe } from '@jest/globals';
import { mergeTests } from '../../contracts/merge.js';
import { here } from '../../support/tested-table.js';

describe.each([['plain', 'folder'], ['plain', 'disk'], ...here] as const)('a table (%s) in a %s', (kind, place) => mergeTests(kind, place));
