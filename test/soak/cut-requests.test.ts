import { describe, test } from '@jest/globals';
import { cutRuns } from '../support/cut-runs.js';
import { reachedServer } from '../support/reached-server.js';
import { seaweedfsMissing } from '../support/seaweedfs.js';

const suite = seaweedfsMissing === undefined ? describe : describe.skip;

suite(`a run to a store (${seaweedfsMissing ?? 'SeaweedFS'})`, () => {
  const server = reachedServer();

  test('publishes whole files whichever request is cut before or after the store carried it out, or arrives late', async () => {
    await cutRuns(server(), () => true);
  });
});
