import { once } from 'node:events';
import { SourceError } from '../core/index.js';

/** A message for a server. */
export interface Post {
  readonly url: string;
  readonly json: unknown;
  /** Name of the message in errors, without the address, which may contain a token. */
  readonly label: string;
  /** Time limit for the answer. */
  readonly timeoutMs: number;
  /** Address of the proxy to use; `undefined` for none. */
  readonly proxy: string | undefined;
}

/**
 * Posts JSON once. Redirects are not followed; any status from 200 to 299 is success. Of the answer nothing else is read. The first message loads the code for
 * this.
 *
 * @throws {SourceError} Its `kind` shows whether another attempt may help. Its message contains at most the host of the address.
 */
export async function postJson({ url, json, label, timeoutMs, proxy }: Post): Promise<void> {
  const { networkFailure } = await import('./network-failure.js');
  const { got, TimeoutError } = await import('got');
  const request = got.stream.post(url, {
    json,
    headers: { 'user-agent': 'leadstream', connection: 'close' },
    agent: proxy === undefined ? {} : await agentsFor(proxy),
    timeout: { request: timeoutMs },
    retry: { limit: 0 },
    followRedirect: false,
    throwHttpErrors: false,
  });
  try {
    const [{ statusCode }] = (await once(request, 'response')) as [{ readonly statusCode: number }];
    if (statusCode < 200 || statusCode >= 300) throw refusal(label, statusCode);
  } catch (thrown) {
    if (thrown instanceof SourceError) throw thrown;
    if (thrown instanceof TimeoutError) throw new SourceError('E_SOURCE_UNAVAILABLE', 'transient', `${label}: no response in time`);
    const way = { host: new URL(url).host, proxy: proxy === undefined ? undefined : new URL(proxy).host };
    throw networkFailure(label, way, thrown);
  } finally {
    request.on('error', () => {}).destroy();
  }
}

async function agentsFor(proxy: string) {
  const { proxyAgents } = await import('./proxy-agents.js');
  const { http, https } = proxyAgents(proxy, { keepAlive: false, maxSockets: 1 });
  return { http, https };
}

function refusal(label: string, status: number): SourceError {
  const isTransient = status === 429 || status >= 500;
  const what = `${label}: HTTP ${status}${status < 400 ? ': a redirect, which is never followed' : ''}`;
  return isTransient ? new SourceError('E_SOURCE_UNAVAILABLE', 'transient', what) : new SourceError('E_SOURCE_REFUSED', 'permanent', what);
}
