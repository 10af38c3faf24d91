import { cutRuns } from '../support/cut-runs.js';
import { inSeaweedFS } from '../support/in-seaweedfs.js';

inSeaweedFS('a run to a store', (server) => {
  test('publishes whole files whichever request is cut before or after the store carried it out, or arrives late', async () => {
    await cutRuns(server(), () => true);
  });
});
