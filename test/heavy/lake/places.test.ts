import { describe } from '@jest/globals';
import { storeTableTests, tableTests } from '../../contracts/store-tables.js';
import { inSeaweedFS } from '../../support/in-seaweedfs.js';
import { onServers } from '../../support/tested-table.js';

inSeaweedFS('on a server', () => {
  describe.each(onServers)('a table (%s) in a %s', tableTests);
  describe.each(onServers)('a table (%s) in a %s', storeTableTests);
});
