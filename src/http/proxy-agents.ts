import type { Agent } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import { HttpProxyAgent } from 'http-proxy-agent';
import { HttpsProxyAgent } from 'https-proxy-agent';

/** Time limit for a proxy to open a connection to the service, in milliseconds. */
const connectMs = 10_000;

/** Agents whose requests use a proxy: a tunnel (`CONNECT`) to a service with TLS, otherwise a request to the proxy itself. */
export interface ProxyAgents {
  readonly http: Agent;
  readonly https: HttpsAgent;
  /** Gives up the connections that are not open yet. */
  abandon(): void;
}

export function proxyAgents(proxy: string, connections: { readonly keepAlive: boolean; readonly maxSockets: number }): ProxyAgents {
  const opening = new Set<AbortController>();
  const agents = { http: new HttpProxyAgent(proxy, connections), https: new HttpsProxyAgent(proxy, connections) };
  bound(agents.http, opening);
  bound(agents.https, opening);
  // This agent takes both protocols, but in the types of Node it is for HTTP only.
  const https = agents.https as unknown as HttpsAgent;
  return { http: agents.http, https, abandon: () => opening.forEach((controller) => controller.abort()) };
}

/** The members of the agents that are needed here; the options are those of the connection to the proxy. */
interface Connecting {
  connectOpts: object;
  connect(...request: never[]): Promise<unknown>;
}

/** Limits the time for opening a connection. If its request is abandoned meanwhile, only this limit or `abandon` closes it. */
function bound(agent: Connecting, opening: Set<AbortController>): void {
  const connect = agent.connect.bind(agent);
  const options = agent.connectOpts;
  agent.connect = async (...request) => {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), connectMs).unref();
    opening.add(controller);
    try {
      agent.connectOpts = { ...options, signal: controller.signal };
      return await connect(...request);
    } finally {
      clearTimeout(timer);
      opening.delete(controller);
    }
  };
}
