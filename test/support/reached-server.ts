import { afterAll, beforeAll } from '@jest/globals';
import { seaweedfs, type SeaweedFS } from './seaweedfs.js';

/** Lets the SDK find the server in the environment of this process, for the tests of the surrounding `describe`. */
export function reachedServer(): () => SeaweedFS {
  let server: SeaweedFS;
  let before: NodeJS.ProcessEnv;
  beforeAll(async () => {
    before = { ...process.env };
    server = await seaweedfs();
    Object.assign(process.env, server.env);
  });
  afterAll(() => {
    for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
    Object.assign(process.env, before);
  });
  return () => server;
}
