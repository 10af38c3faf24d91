/**
 * The page server as a separate process: pages are slices of rendered rows, so answering costs next to nothing.
 *
 *   node server.js DATASET      # as JSON; prints its port
 *
 * `/stats` returns the CPU time used by the process, in microseconds.
 */
import { createServer } from 'node:http';
import type { Dataset } from './data.js';
import { opened } from './pages.js';

const data: Dataset = JSON.parse(process.argv[2] ?? '{}');
const lists = new Map(
  Object.entries({ leads: data.leads, bridges: data.bridges, areacodes: data.areacodes }).map(([name, table]) => [
    `/api/${name}`,
    opened(table),
  ]),
);

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://bench');
  const send = (status: number, body: string | Buffer): void => {
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
    response.end(body);
  };
  if (url.pathname === '/stats') return send(200, JSON.stringify(process.cpuUsage()));
  const list = lists.get(url.pathname);
  if (list === undefined) return send(404, '{"error":"there is no such path"}');
  const limit = Math.min(Number(url.searchParams.get('limit') ?? 30), 500);
  const page = Number(url.searchParams.get('page') ?? 1);
  if (!Number.isInteger(page) || page < 1) return send(400, '{"error":"page must be a whole number from 1 on"}');
  return send(200, list((page - 1) * limit, limit));
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.stdout.write(`${address.port}\n`);
});
process.stdin.on('end', () => process.exit(0)).resume();
