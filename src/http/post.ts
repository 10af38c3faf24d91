import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { got, TimeoutError } from 'got';
import { amountOf, SourceError } from '../core/index.js';
import { networkFailure } from './network-failure.js';
import type { Post } from './post-json.js';

/** Largest answer that is read to the end, in bytes. Its content is not used. */
const maxAnswer = 64 * 1024;

/** Makes one attempt. @throws {SourceError} Its message contains the host, and nothing else of the address. */
export async function post({ url, json, label, timeoutMs, signal, proxy }: Post): Promise<void> {
  const agents = await agentsFor(proxy);
  const abort = new AbortController();
  let refused: SourceError | undefined;
  const leave = (failure: SourceError): void => {
    refused ??= failure;
    abort.abort();
  };
  const late = (): void => leave(failed(label, 'no response in time'));
  const timer = setTimeout(late, timeoutMs);
  signal?.addEventListener('abort', late, { once: true });
  if (signal?.aborted) late();
  try {
    const request = got.post(url, {
      json,
      headers: { 'user-agent': 'leadstream' },
      agent: agents,
      retry: { limit: 0 },
      followRedirect: false,
      throwHttpErrors: false,
      responseType: 'buffer',
      signal: abort.signal,
    });
    void request.on('request', (sent) => {
      sent.once('proxyConnect', ({ statusCode }: { readonly statusCode: number }) => {
        if (statusCode !== 200) leave(failed(label, `the proxy refused the connection: HTTP ${statusCode}`));
      });
    });
    void request.on('downloadProgress', ({ transferred }) => {
      if (transferred > maxAnswer) leave(failed(label, `the response is larger than ${amountOf(maxAnswer, 'byte')}`, 'permanent'));
    });
    const { statusCode } = await request;
    const refusal = refusalOf(label, statusCode);
    if (refusal) throw refusal;
  } catch (thrown) {
    if (refused) throw refused;
    if (thrown instanceof SourceError) throw thrown;
    if (thrown instanceof TimeoutError) throw failed(label, 'no response in time');
    const way = { host: new URL(url).host, proxy: proxy === undefined ? undefined : new URL(proxy).host };
    throw networkFailure(label, way, thrown);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', late);
    agents.http.destroy();
    agents.https.destroy();
  }
}

function refusalOf(label: string, status: number): SourceError | undefined {
  if (status >= 200 && status < 300) return undefined;
  if (status >= 300 && status < 400) return failed(label, `HTTP ${status}: a redirect, which is never followed`, 'permanent');
  return failed(label, `HTTP ${status}`, status === 429 || status >= 500 ? 'transient' : 'permanent');
}

function failed(label: string, what: string, kind: 'transient' | 'permanent' = 'transient'): SourceError {
  return new SourceError(kind === 'transient' ? 'E_SOURCE_UNAVAILABLE' : 'E_SOURCE_REFUSED', kind, `${label}: ${what}`);
}

async function agentsFor(proxy: string | undefined) {
  const connections = { keepAlive: false, maxSockets: 1 };
  if (proxy === undefined) return { http: new HttpAgent(connections), https: new HttpsAgent(connections) };
  const { proxyAgents } = await import('./proxy-agents.js');
  const { http, https } = proxyAgents(proxy, connections);
  return { http, https };
}
