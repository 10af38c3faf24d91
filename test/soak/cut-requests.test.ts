import { afterAll, beforeAll, describe, test } from '@jest/globals';
import { cutRuns } from '../support/cut-runs.js';
import { seaweedfs, seaweedfsMissing, type SeaweedFS } from '../support/seaweedfs.js';

const suite = seaweedfsMissing === undefined ? describe : describe.skip;

suite(`a run to a store (${seaweedfsMissing ?? 'SeaweedFS'})`, () => {
  const before = { ...process.env };
  let server: SeaweedFS;

  beforeAll(async () => {
    server = await seaweedfs();
    Object.assign(process.env, server.env);
  });

  afterAll(() => {
    for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
    Object.assign(process.env, before);
  });

  test('publishes whole files whichever request is cut before or after the store carried it out, or arrives late', async () => {
    await cutRuns(server, () => true);
  });
});
