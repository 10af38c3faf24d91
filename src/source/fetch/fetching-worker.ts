import { parentPort } from 'node:worker_threads';
import { catchError, map, of, type Observable, type Subscription } from 'rxjs';
import { SourceError } from '../../core/index.js';
import { task } from '../../flow/index.js';
import { loadTransport, openTransport, type HttpAnswer, type Target, type Transport, type TransportOptions } from '../../http/index.js';
import { togetherMost, type Fetched, type FetchMessage, type FetchRequest, type Outcome, type ScannedAnswer } from './fetching.js';
import { scan } from '../decode/scan.js';

const running = new Map<number, Subscription>();
let transport: Transport;
/** Requests that failed so far. */
let failed = 0;

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
  const { id } = request;
  const subscription = fetchInTurn(request).subscribe((outcomes) => {
    running.delete(id);
    const answers = outcomes.flatMap((outcome) => ('answer' in outcome ? [outcome.answer] : []));
    const buffers = answers.flatMap(({ body, scanned }) => [body.buffer, scanned?.bounds.buffer]);
    const moved = buffers.filter((buffer) => buffer instanceof ArrayBuffer);
    parentPort?.postMessage({ id, outcomes, failed } satisfies Fetched, moved);
  });
  running.set(id, subscription);
}

/** Requests pages one after another, as long as each is usual and not the one before it again, and no request to the service fails. */
function fetchInTurn({ targets, usual, failed: known }: FetchRequest): Observable<readonly Outcome[]> {
  return task(async (ask) => {
    const begun = performance.now();
    const outcomes: Outcome[] = [];
    let [bytes, before]: [number, Uint8Array] = [0, Buffer.alloc(0)];
    for (const target of targets) {
      const outcome = await ask(fetch(target));
      outcomes.push(outcome);
      if (!('answer' in outcome) || outcome.answer.status !== 200) break;
      const { body, scanned } = outcome.answer;
      if (scanned?.rows !== usual?.rows || scanned?.names.join('\0') !== usual?.names) break;
      bytes += body.length;
      const isEnough = bytes > togetherMost.bytes || performance.now() > begun + togetherMost.ms;
      if (isEnough || failed > known || Buffer.compare(body, before) === 0) break;
      before = body;
    }
    return outcomes;
  });
}

function fetch(target: Target): Observable<Outcome> {
  return transport.get(target).pipe(
    map((answer) => ({ answer: scanned(answer) })),
    catchError((thrown: unknown) => {
      if (!(thrown instanceof SourceError)) throw thrown;
      failed += 1;
      const { code, kind, message, status, retryAfterMs, systemCode } = thrown;
      return of<Outcome>({ failure: [code, kind, message, { status, retryAfterMs, systemCode }] });
    }),
  );
}

function scanned({ body, ...answer }: HttpAnswer): ScannedAnswer {
  const found = scan(body) ?? null;
  const all = found?.bytes ?? body;
  // Node keeps small buffers in a shared block of memory, which cannot be transferred.
  const bytes = all.byteLength === all.buffer.byteLength ? all : Uint8Array.from(all);
  return { ...answer, body: bytes.subarray(0, body.length), scanned: found && { ...found, bytes } };
}
