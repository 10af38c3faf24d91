import { once } from 'node:events';
import { createServer } from 'node:http';
import { isIPv6 } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { LeadstreamError, reasonOf } from '../errors.js';
import { createApp, type ServiceOptions } from './app.js';

/** What the service serves and where it listens. */
export interface StartOptions extends ServiceOptions {
  /** Port to listen on; 0, the default, takes a free one. */
  readonly port?: number;
  /** Address to listen on; the default, 127.0.0.1, is reached from this machine only. */
  readonly host?: string;
}

/** A service that listens. */
export interface RunningService {
  /** Base URL without a trailing slash, for example `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly port: number;
  /** Stops listening and ends every connection at once, also one that is being answered. */
  close(): Promise<void>;
}

/**
 * Starts the data service of SERVICE.md on HTTP and resolves when it listens.
 *
 * @throws {LeadstreamError} `E_USAGE` when there is no account or the address cannot be listened on.
 *
 * @example
 * const service = await startService({ source: generate({ leads: 1000 }), accounts: [{ uid: '7', key: 'k' }] });
 * await fetch(`${service.url}/api/leads?authorized_uid=7&authorized_rest_api_key=k`);
 * await service.close();
 */
export async function startService({ port = 0, host = '127.0.0.1', ...options }: StartOptions): Promise<RunningService> {
  const app = createApp(options);
  const server = createServer(getRequestListener(app.fetch, { overrideGlobalObjects: false }));
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    throw new LeadstreamError('E_USAGE', `cannot listen on ${host}:${port}: ${reasonOf(error)}`);
  }
  const address = server.address();
  const bound = address !== null && typeof address === 'object' ? address.port : port;
  return {
    url: `http://${isIPv6(host) ? `[${host}]` : host}:${bound}`,
    port: bound,
    close: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
