import { seaweedfs, type SeaweedFS, seaweedfsMissing } from './seaweedfs.js';

/**
 * Declares a suite of tests that need the server, which the SDK finds in the environment of this process. Without it, the report shows that
 * they are skipped, and why.
 */
export function inSeaweedFS(title: string, body: (server: () => SeaweedFS) => void): void {
  (seaweedfsMissing === undefined ? describe : describe.skip)(`${title} (${seaweedfsMissing ?? 'SeaweedFS'})`, () => {
    let server: SeaweedFS;
    let before: NodeJS.ProcessEnv;
    beforeAll(async () => {
      before = { ...process.env };
      server = await seaweedfs();
      Object.assign(process.env, server.env);
    });
    afterAll(() => {
      for (const name of Object.keys(process.env)) if (/^(?:AWS|LEADSTREAM)_/.test(name)) delete process.env[name];
      Object.assign(process.env, before);
    });
    body(() => server);
  });
}
