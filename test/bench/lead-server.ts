/**
 * Measures the memory of examples/lead-server.ts in a separate process, with slow clients and clients that disconnect. For information only, not a test.
 *
 *   npm run bench:lead-server -- [CLIENTS]
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { fileURLToPath } from 'node:url';
import { setTimeout } from 'node:timers/promises';
import { generate, startService } from '../../src/service/index.js';

const clients = Number(process.argv[2] ?? 50);
const here = fileURLToPath(import.meta.url);
const key = 'a-key-of-the-measurement';

if (process.send) await serve();
else await measure();

/** Runs the example, which reports its memory on request. */
async function serve(): Promise<void> {
  const { connect } = await import('leadstream');
  const { leadServer } = await import('../../examples/lead-server.js');
  const baseUrl = process.argv[3] ?? '';
  const app = leadServer(connect({ baseUrl, auth: { rest_api_key: key }, limit: 500, concurrency: 2, window: 4, endWaitMs: 1 }));
  const url = await app.listen({ port: 0 });
  process.on('message', () => {
    globalThis.gc?.();
    const { rss, heapUsed, external } = process.memoryUsage();
    process.send?.([rss, heapUsed, external].map((bytes) => bytes / 2 ** 20));
  });
  process.send?.(url);
}

async function measure(): Promise<void> {
  const service = await startService({ source: generate({ leads: 50_000, bridges: 50, seed: 7 }), accounts: [{ restApiKey: key }] });
  const child = fork(here, [String(clients), service.url], { execArgv: ['--import', 'tsx', '--expose-gc'] });
  const [url] = (await once(child, 'message')) as [string];
  const report = async (when: string) => {
    // Waits for work under way to settle; no result depends on this time.
    await setTimeout(3_000);
    child.send('measure');
    const [figures] = (await once(child, 'message')) as [readonly number[]];
    const [rss, heap, external] = figures.map((each) => `${each.toFixed(1)} MiB`.padStart(10));
    process.stdout.write(`${when.padEnd(44)} rss ${rss}  heap ${heap}  external ${external}\n`);
  };
  await report('before the first client');
  await drained(await slowClient(url));
  await report('after one client that read everything');
  const answers = await Promise.all(Array.from({ length: clients }, () => slowClient(url)));
  await report(`${clients} clients that read nothing`);
  const [leaving, slow] = [answers.slice(0, Math.floor(clients * 0.4)), answers.slice(Math.floor(clients * 0.4))];
  for (const answer of leaving) answer.destroy();
  await report(`${leaving.length} of them left`);
  for (const answer of slow.slice(3)) answer.destroy();
  await Promise.all(slow.slice(0, 3).map(drained));
  await report('3 read on to the end, the others left');
  child.kill();
  await service.close();
}

async function slowClient(url: string): Promise<IncomingMessage> {
  const asked = request(`${url}/leads`, { agent: false });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  await once(answer, 'readable');
  return answer;
}

async function drained(answer: IncomingMessage): Promise<void> {
  for await (const chunk of answer) void chunk;
}
