import { createServer, connect } from 'node:net';
import { closeAfter, listening } from './closing.js';

/**
 * What becomes of a message of the client: it is passed on; or the connection is cut before the server gets it, or when the server has
 * answered it. The parts of a query with parameters count as one.
 */
export type MessageFate = 'passed' | 'cut' | 'applied';

export interface PostgresProxy {
  readonly port: number;
  /** The messages of the clients so far: `startup`, or their letter, with the text of a query. */
  readonly messages: readonly string[];
}

/** Starts a proxy for one test between clients and a server without TLS. */
export async function postgresProxy(port: number, fateOf: (message: string, index: number) => MessageFate): Promise<PostgresProxy> {
  const messages: string[] = [];
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    let fate: MessageFate = 'passed';
    let isAsked = false;
    let left: Buffer = Buffer.alloc(0);
    let isStarted = false;
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    closeAfter({ close: end });
    for (const socket of [client, upstream]) socket.setNoDelay(true).on('error', end).on('close', end);
    client.on('data', (data) => {
      left = Buffer.concat([left, data]);
      for (let next = messageIn(left, isStarted); next && !isAsked; next = messageIn(left, isStarted)) {
        const { name, bytes } = next;
        isStarted = true;
        left = left.subarray(bytes.length);
        const isPart = /^[BDES]/.test(name);
        if (!isPart) fate = fateOf(name, messages.push(name) - 1);
        if (fate === 'cut') {
          end();
          return;
        }
        upstream.write(bytes);
        isAsked = fate === 'applied' && /^(?:startup|[pQScd])/.test(name);
        // Data of a COPY has no answer, but has arrived when the connection ends.
        if (isAsked && name === 'd') upstream.end();
      }
    });
    let answer = Buffer.alloc(0);
    upstream.on('data', (data) => {
      if (fate !== 'applied') return void client.write(data);
      answer = Buffer.concat([answer, data]);
      if (isAnswered(answer)) end();
    });
  });
  return { port: await listening(server), messages };
}

/** Only the first message has no letter. */
function messageIn(data: Buffer, isStarted: boolean): { readonly name: string; readonly bytes: Buffer } | undefined {
  const head = isStarted ? 1 : 0;
  if (data.length < head + 4) return undefined;
  const length = head + data.readUInt32BE(head);
  if (data.length < length) return undefined;
  const bytes = data.subarray(0, length);
  const letter = bytes.toString('latin1', 0, 1);
  const text = letter === 'Q' || letter === 'P' ? ` ${bytes.toString('utf8', 5).replaceAll('\0', '').trim()}` : '';
  return { name: isStarted ? letter + text : 'startup', bytes };
}

/** Whether the server waits for the client again: ready for a query, for the data of a COPY, or for a password. */
function isAnswered(data: Buffer): boolean {
  for (let at = 0; at + 5 <= data.length; at += 1 + data.readUInt32BE(at + 1)) {
    const letter = data.toString('latin1', at, at + 1);
    if ('ZGE'.includes(letter) || (letter === 'R' && ![0, 12].includes(data.readUInt32BE(at + 5)))) return true;
  }
  return false;
}
