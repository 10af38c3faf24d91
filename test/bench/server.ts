/**
 * The page server as a separate process: pages are slices of rendered rows, so answering costs next to nothing.
 *
 *   node server.js DATASET      # as JSON; prints its port
 *
 * `/stats` returns the CPU time used by the process, in microseconds.
 */
import { openSync, readFileSync, readSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Dataset, Rendered } from './data.js';

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

/** Reads up to `limit` rows from an offset as a JSON array. The file is in the system's page cache, not in this process. */
function opened({ body, offsets, rows }: Rendered): (first: number, limit: number) => Buffer {
  const file = openSync(body, 'r');
  const bytes = readFileSync(offsets);
  const at = new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  return (first, limit) => {
    const end = Math.min(first + limit, rows);
    if (first >= end) return Buffer.from('[]');
    const start = at[first] ?? 0;
    const length = (at[end] ?? 0) - start - 1;
    const page = Buffer.allocUnsafe(length + 2);
    page[0] = 0x5b;
    readSync(file, page, 1, length, start);
    page[length + 1] = 0x5d;
    return page;
  };
}
