import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Stores } from '../../src/store/index.js';
import { cuttingProxy, type Fate } from './cutting-proxy.js';
import { leads, pipelineText, serviceOf } from './services.js';
import { bucket, type SeaweedFS } from './seaweedfs.js';
import { temporaryFolder } from './temporary.js';

/** A folder of the bucket for one test, reached by the environment of this process. */
export function placed() {
  const root = `s3://${bucket}/${randomUUID()}`;
  const store = new Stores().at(root);
  return {
    root,
    store,
    at: (name: string) => `${root}/${name}`,
    read: async (name: string) => (await store.read(name))?.bytes.toString(),
    names: async () => {
      const names: string[] = [];
      for await (const { key } of store.list('')) names.push(key);
      return names.filter((name) => !name.includes('_leadstream/') && !name.endsWith('.lock'));
    },
  };
}

/**
 * Runs a pipeline of the built package to a file of a bucket, once for each request of a recorded run that is picked and each thing that can happen to it; and
 * then again, undisturbed. Expects the old file or the new one, by what the run says, and then the new one.
 */
export async function cutRuns(server: SeaweedFS, isPicked: (request: string) => boolean): Promise<void> {
  const [baseDir, from] = [await temporaryFolder(), await serviceOf({ leads: leads(3) })];
  const whole = ['"lead_id"', ...leads(3).map(({ lead_id: id }) => `"${id}"`), ''].join('\n');
  let doomed = -1;
  let fate: Fate = 'answered';
  const proxy = await cuttingProxy(server.endpoint, (_, index) => (index === doomed ? fate : 'answered'));
  const env = { ...from.env, ...server.env, AWS_ENDPOINT_URL_S3: proxy.url };
  const child = fork(new URL('running-child.mjs', import.meta.url), { env });
  const run = async (path: string): Promise<unknown> => {
    const to = `from: leads\nsteps:\n  - select: [lead_id]\nto:\n  - csv: { path: '${path}' }`;
    child.send({ text: pipelineText(to), baseDir });
    return ((await once(child, 'message')) as unknown[])[0];
  };
  try {
    expect(await run(placed().at('x.csv'))).toBe('published');
    for (const [index, request] of [...proxy.requests].entries()) {
      for (const kind of isPicked(request) ? (['cut', 'applied', 'refused', 'failed', 'late'] as const) : []) {
        const { at, store, read } = placed();
        await store.put('x.csv', 'old');
        let arrive: (value?: unknown) => void = () => {};
        fate = kind === 'late' ? new Promise((resolve) => (arrive = resolve)) : kind;
        doomed = proxy.requests.length + index;
        // What finds out whether the store can be used is not repeated.
        const isPublished = (await run(at('x.csv'))) === 'published' || !request.includes('probe.json');
        expect([request, kind, await read('x.csv')]).toEqual([request, kind, isPublished ? whole : 'old']);
        arrive();
        doomed = -1;
        expect([request, kind, await run(at('x.csv')), await read('x.csv')]).toEqual([request, kind, 'published', whole]);
      }
    }
  } finally {
    child.kill();
  }
}
