/**
 * Cancels reads in every possible way and reports what is left in the process: `node cancelling-child.mjs THREADS ROUNDS`. It uses the built module,
 * because only that has threads, and its own service, whose connections count as well.
 */
import { subscribe } from 'node:diagnostics_channel';
import { getEventListeners, once } from 'node:events';
import { createServer } from 'node:http';
import { addAbortSignal } from 'node:stream';
import { map } from 'rxjs';
import { connect, join } from '../../dist/index.js';

const [threads, rounds] = process.argv.slice(2).map(Number);
const workers = { started: 0, ended: 0 };
subscribe('worker_threads', ({ worker }) => {
  workers.started += 1;
  worker.on('exit', () => (workers.ended += 1));
});

/** Callbacks by path: `hung(path)` resolves when a request has arrived for a page that is never answered. */
const hanging = new Map();
const hung = (path) => new Promise((resolve) => hanging.set(path, resolve));
let underWay = 0;

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://local');
  const page = Number(searchParams.get('page') ?? 1);
  underWay += 1;
  response.on('close', () => (underWay -= 1));
  const key = pathname.endsWith('bridges') ? 'id' : 'lead_id';
  if (pathname.startsWith('/busy')) return response.writeHead(503).end();
  if (pathname.startsWith('/silent') || (pathname.startsWith('/side') && key === 'id' && page > 2)) return hanging.get(pathname)?.();
  response.end(JSON.stringify(page < 1 ? [] : Array.from({ length: 10 }, (_, row) => ({ [key]: `${page * 10 + row}`, bridge_id: '1' }))));
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${server.address().port}`;
const connections = () => new Promise((resolve) => server.getConnections((_, count) => resolve(count)));

function open(path, options = {}) {
  return connect({ baseUrl: `${url}/${path}`, auth: { rest_api_key: 'key-of-the-test' }, limit: 10, concurrency: 2, threads, ...options });
}

/** Subscribes, and unsubscribes when the awaited promise resolves. */
async function leave(stream$, awaited) {
  const subscription = stream$.subscribe({ error: (error) => console.error(error) });
  await awaited;
  subscription.unsubscribe();
}

const services = { plain: open('plain'), silent: open('silent'), side: open('side'), busy: undefined };
let retried = () => {};
services.busy = open('busy', { retry: { baseMs: 60_000, capMs: 60_000 }, random: () => 1, watch: { retry: () => retried() } });

const ways = {
  'before the first page': () => leave(services.silent.leads.pages$, hung('/silent/api/leads')),
  'in the middle': () =>
    new Promise((resolve) => {
      const subscription = services.plain.leads.pages$.subscribe(({ number }) => {
        if (number < 3) return;
        subscription.unsubscribe();
        resolve();
      });
    }),
  'while it waits to try again': () => leave(services.busy.leads.pages$, new Promise((resolve) => (retried = resolve))),
  'while a join reads its side': () => {
    const sides = join(services.side.bridges, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'] });
    return leave(services.side.leads.pages$.pipe(sides), hung('/side/api/bridges'));
  },
  'by leaving a loop': async () => {
    let rows = 0;
    for await (const _ of services.plain.leads) if ((rows += 1) === 25) break;
  },
  'by destroying a stream': async () => {
    const readable = services.plain.leads.toReadable('ndjson');
    await once(readable, 'data');
    readable.destroy();
    await once(readable, 'close');
  },
  'by a signal': async () => {
    const controller = new AbortController();
    const readable = addAbortSignal(controller.signal, services.plain.leads.toReadable());
    readable.on('error', () => {});
    await once(readable, 'data');
    controller.abort();
    await new Promise((resolve) => readable.once('close', resolve));
    if (getEventListeners(controller.signal, 'abort').length > 0) throw new Error('a listener is left');
  },
  'by an error downstream': () =>
    new Promise((resolve) => {
      const failing = map(() => {
        throw new Error('downstream');
      });
      services.plain.leads.pages$.pipe(failing).subscribe({ error: resolve });
    }),
  'by closing': async () => {
    const service = open('plain');
    const failed = new Promise((resolve) => {
      service.leads.pages$.subscribe({ next: ({ number }) => number === 2 && void service.close(), error: resolve });
    });
    const { code } = await failed;
    if (code !== 'E_SOURCE_CLOSED') throw new Error(`closing failed with ${code}`);
    await service.close();
  },
};

/** Bytes in use after a garbage collection. */
const heapUsed = () => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};
const outcomes = {};
const heap = {};
for (const cancel of Object.values(ways)) await cancel();
heap.first = heapUsed();
for (const [what, cancel] of Object.entries(ways)) {
  for (let round = 0; round < rounds; round += 1) await cancel();
  // Cancelled requests also disappear from the service, at the latest when their connections close.
  while (underWay > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  outcomes[what] = { rounds, connections: (await connections()) <= 2 * Object.keys(services).length };
}
await Promise.all(Object.values(services).map((service) => service.close()));
// The output goes to pipes.
const resourcesLeft = () => process.getActiveResourcesInfo().filter((resource) => resource !== 'PipeWrap');
// Each end of a connection closes a little later; whatever remains is a leak.
const settled = async () => (await connections()) === 0 && resourcesLeft().length === 1;
for (let tries = 0; tries < 1000 && !(await settled()); tries += 1) await new Promise((resolve) => setTimeout(resolve, 10));
const left = { sockets: await connections(), threads: workers.started - workers.ended };
heap.last = heapUsed();
console.log(JSON.stringify({ outcomes, heap, resources: resourcesLeft(), left }));
server.close();
