import { once } from 'node:events';
import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listening } from './closing.js';

/**
 * What becomes of a request: it is answered; its connection is cut before the server gets it, or when the server has carried it out; or the connection is cut at
 * once, and the server gets it when a promise resolves. It is answered by 503 or 403 instead of the server (`refused`, `forbidden`), or by 500 instead of its reply (`failed`).
 * `silent` and `unanswered` are `cut` and `applied` for a client that never hears of it, as one that was killed. `untagged` is answered without an ETag.
 */
export type Fate = Reply | 'cut' | 'applied' | 'refused' | 'forbidden' | 'failed' | 'silent' | 'unanswered' | Promise<unknown>;

type Reply = 'answered' | 'untagged';

export interface CuttingProxy {
  readonly url: string;
  /** The requests so far, like `PUT /lake/leads.csv`. */
  readonly requests: readonly string[];
  /** Cuts the connections that are open. */
  cut(): void;
}

/** Starts a server for one test that passes requests on to another, whose address and key the client need not know: a signature stays valid. */
export async function cuttingProxy(target: string, fateOf: (request: string, index: number) => Fate): Promise<CuttingProxy> {
  const requests: string[] = [];

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const name = `${request.method ?? ''} ${request.url?.split('?')[0] ?? ''}`;
    const fate = fateOf(name, requests.push(name) - 1);
    const body = await buffer(request);
    if (fate === 'silent') return;
    if (fate === 'refused' || fate === 'forbidden') return void response.writeHead(fate === 'refused' ? 503 : 403).end();
    if (fate === 'cut' || typeof fate === 'object') request.socket.destroy();
    if (fate === 'cut') return;
    await fate;
    const { status, headers, content } = await passedOn(target, request, body);
    if (fate === 'answered') response.writeHead(status, headers).end(content);
    else if (fate === 'untagged')
      response.writeHead(status, headers.map(renamed)).end(Buffer.from(content.toString('latin1').replaceAll('ETag>', 'XTag>'), 'latin1'));
    else if (fate === 'failed') response.writeHead(500).end();
    else if (fate !== 'unanswered') request.socket.destroy();
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => request.socket.destroy());
  });
  const port = await listening(server);
  return { url: `http://127.0.0.1:${port}`, requests, cut: () => server.closeAllConnections() };
}

async function passedOn(target: string, { method = 'GET', url = '/', headers }: IncomingMessage, body: Buffer) {
  // The body is here already.
  const passed = Object.entries(headers).filter(([name]) => name !== 'expect');
  const sent = send(new URL(url, target), { method, headers: Object.fromEntries(passed), agent: false }).end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: answer.statusCode ?? 500, headers: answer.rawHeaders, content: await buffer(answer) };
}

function renamed(header: string): string {
  return header.replace(/^etag$/i, 'x-tag');
}
