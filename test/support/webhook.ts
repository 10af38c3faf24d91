import { createServer, type Server } from 'node:http';
import { listening } from './closing.js';

/** The path of a webhook, which is its credential. */
export const token = 'T-7f3a9c0d/B-51e2/hook-token-0123456789';

/** A message received. */
interface Told {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly type: string | undefined;
  readonly authorization: string | undefined;
  readonly body: string;
}

/** Starts a webhook that answers each message with the next of several statuses, and records the messages. */
export async function webhook(answers: readonly (number | 'hang' | 'cut')[] = [200], server: Server = createServer()) {
  const told: Told[] = [];
  server.on('request', (request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const answer = answers[Math.min(told.length, answers.length - 1)] ?? 200;
      told.push({
        method: request.method,
        path: request.url,
        type: request.headers['content-type'],
        authorization: request.headers.authorization,
        body: Buffer.concat(pieces).toString('utf8'),
      });
      if (answer === 'hang') return;
      if (answer === 'cut') return void request.socket.destroy();
      response.writeHead(answer, answer === 302 ? { location: '/elsewhere' } : {});
      response.end('thank you');
    });
  });
  const port = await listening(server);
  const protocol = 'setSecureContext' in server ? 'https' : 'http';
  return { told, port, url: `${protocol}://127.0.0.1:${port}/${token}` };
}
