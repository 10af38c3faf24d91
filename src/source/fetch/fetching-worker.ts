import { parentPort } from 'node:worker_threads';
import type { Subscription } from 'rxjs';
import { SourceError } from '../../core/index.js';
import { loadTransport, openTransport, type HttpAnswer, type Transport, type TransportOptions } from '../../http/index.js';
import type { Failure, Fetched, FetchMessage, ScannedAnswer } from './fetching.js';
import { scan } from '../decode/scan.js';

const running = new Map<number, Subscription>();
let transport: Transport;

parentPort?.once('message', (options: TransportOptions) => {
  transport = openTransport(options);
  parentPort?.on('message', take);
});
void loadTransport();

function take(request: FetchMessage): void {
  if ('stop' in request) {
    running.get(request.stop)?.unsubscribe();
    running.delete(request.stop);
    return;
  }
  const { id, target } = request;
  const subscription = transport.get(target).subscribe({
    next: (answer) => post({ id, answer: scanned(answer) }),
    error: (thrown: unknown) => post({ id, failure: failureOf(thrown) }),
  });
  running.set(id, subscription);
}

function post(message: Fetched): void {
  running.delete(message.id);
  parentPort?.postMessage(message, 'answer' in message ? movable(message.answer) : []);
}

function scanned({ body, ...answer }: HttpAnswer): ScannedAnswer {
  const found = scan(body) ?? null;
  const bytes = own(found?.bytes ?? body);
  return { ...answer, body: bytes.subarray(0, body.length), scanned: found && { ...found, bytes } };
}

/** Node keeps small buffers in a shared block of memory, which cannot be transferred. */
function own(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : Uint8Array.from(bytes);
}

function movable({ body, scanned }: ScannedAnswer): ArrayBuffer[] {
  return [body.buffer, scanned?.bounds.buffer].filter((buffer) => buffer instanceof ArrayBuffer);
}

function failureOf(thrown: unknown): Failure {
  if (!(thrown instanceof SourceError)) throw thrown;
  const { code, kind, message, status, retryAfterMs, systemCode } = thrown;
  return { code, kind, message, details: { status, retryAfterMs, systemCode } };
}
