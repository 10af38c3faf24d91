import type { Agent } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import { HttpProxyAgent } from 'http-proxy-agent';
import { HttpsProxyAgent } from 'https-proxy-agent';

/** How long a proxy has to open a way to the service, in milliseconds. */
const connectMs = 10_000;

/** Agents whose requests take a proxy: to a service with TLS by a tunnel (`CONNECT`), else as the proxy's own. */
export interface ProxyAgents {
  readonly http: Agent;
  readonly https: HttpsAgent;
  /** Gives up the ways that are not open yet. */
  abandon(): void;
}

export function proxyAgents(proxy: string, connections: { readonly keepAlive: boolean; readonly maxSockets: number }): ProxyAgents {
  const opening = new Set<AbortController>();
  const agents = { http: new HttpProxyAgent(proxy, connections), https: new HttpsProxyAgent(proxy, connections) };
  bound(agents.http, opening);
  bound(agents.https, opening);
  // An agent for either, which the types of Node take for one of HTTP alone.
  const https = agents.https as unknown as HttpsAgent;
  return { http: agents.http, https, abandon: () => opening.forEach((controller) => controller.abort()) };
}

/** What of the agents is needed here; the options are those of the connection to the proxy. */
interface Connecting {
  connectOpts: object;
  connect(...request: never[]): Promise<unknown>;
}

/** A request that is left before its way is open does not close that by itself: it gets a time, and is closed with the agent. */
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
