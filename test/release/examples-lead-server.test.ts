import { request, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { connect } from 'leadstream';
import { leadServer } from '../../examples/lead-server.js';
import { generate } from '../../src/service/index.js';
import { service, testKey } from '../support/services.js';
import { until } from '../support/until.js';

const limit = 500;
const window = 4;
const leads = 50_000;
const clients = 50;

const listening: FastifyInstance[] = [];
afterEach(async () => {
  await Promise.all(listening.splice(0).map((app) => app.close()));
});

/** The example on a service that counts: what was read for clients, and what has left this process for them. */
async function serving() {
  const from = await service(generate({ leads, bridges: 50, seed: 7 }));
  const counts = { pages: 0, rows: 0, requests: 0 };
  const connection = connect({
    ...{ baseUrl: from.url, auth: { rest_api_key: testKey }, limit, concurrency: 2, window, threads: 0, endWaitMs: 1 },
    watch: {
      page: ({ collection, rows }) => {
        if (collection !== 'leads') return;
        counts.pages += 1;
        counts.rows += rows;
      },
      request: { start: () => void (counts.requests += 1) },
    },
  });
  const app = leadServer(connection);
  listening.push(app);
  const sockets: Socket[] = [];
  app.server.on('connection', (socket) => sockets.push(socket));
  const url = await app.listen({ port: 0 });
  const connected = () => sockets.filter((socket) => !socket.destroyed).length;
  const sent = () => sockets.reduce((sum, socket) => sum + socket.bytesWritten - socket.writableLength, 0);
  return { from, counts, connected, sent, url, app };
}

/** A client that has its first bytes, and reads no more until it is told to. */
async function slowClient(url: string): Promise<IncomingMessage> {
  const asked = request(`${url}/leads`, { agent: false });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  await once(answer, 'readable');
  return answer;
}

/** Reads an answer to its end. */
async function sizeOf(answer: IncomingMessage): Promise<{ readonly lines: number; readonly bytes: number }> {
  let [lines, bytes] = [0, 0];
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    lines += chunk.toString('latin1').split('\n').length - 1;
  }
  return { lines, bytes };
}

/** Waits until a count stays what it is for as long as it takes to read many pages. */
async function settled(count: () => number): Promise<number> {
  let last = -1;
  let same = 0;
  await until(() => {
    same = count() === last ? same + 1 : 0;
    last = count();
    return same > 200;
  });
  return last;
}

test(`lead-server.ts keeps a window for each of ${clients} clients, whether they are slow or leave, and reads the bridges once`, async () => {
  const open = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
  const before = open();
  const { from, counts, connected, sent, url, app } = await serving();
  const answers = await Promise.all(Array.from({ length: clients }, () => slowClient(url)));
  const [leaving, slow] = [answers.slice(0, 20), answers.slice(20)];
  for (const answer of leaving) answer.destroy();
  await until(() => connected() === slow.length);

  // Nobody reads, so nothing is read: neither for those who left nor, beyond their windows, for those who wait.
  const pages = await settled(() => counts.pages);
  expect(pages).toBeLessThan((clients * leads) / limit / 1.5);
  const { requests } = counts;
  const gone = sent();

  // Of those who wait some leave now, the others read on to the end and get every lead.
  const [patient, tired] = [slow.slice(0, 3), slow.slice(3)];
  for (const answer of tired) answer.destroy();
  await until(() => connected() === patient.length);
  expect(await settled(() => counts.requests)).toBe(requests);
  const read = await Promise.all(patient.map(sizeOf));
  expect(read.map(({ lines }) => lines)).toEqual(patient.map(() => leads));

  // Of each client there were in memory at most its window, and a page that waits at its socket.
  const perPage = (read[0]?.bytes ?? Number.NaN) / (leads / limit);
  expect((pages - gone / perPage) / clients).toBeLessThan(window + 1);
  expect(from.requests.filter((each) => each === `bridges?page=1&limit=${limit}`)).toHaveLength(1);

  await app.close();
  await until(() => open() === before);
});
