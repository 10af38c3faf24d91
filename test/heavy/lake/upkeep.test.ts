import { describe } from '@jest/globals';
import { compactTests } from '../../contracts/compact.js';
import { damagedTests } from '../../contracts/damaged.js';
import { togetherKilledTests, togetherTests } from '../../contracts/together.js';
import { inSeaweedFS } from '../../support/in-seaweedfs.js';
import { onServers } from '../../support/tested-table.js';

inSeaweedFS('on a server', () => {
  describe.each(onServers)('a table (%s) in a %s that is compacted', compactTests);
  describe('a table of five nights in a bucket', () => damagedTests('plain', 'bucket'));
  describe('tables of a store that are published together', () => togetherTests('S3'));
});

describe('tables of this machine that are published together', togetherKilledTests);
