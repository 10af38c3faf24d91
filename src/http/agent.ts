import type { Agent as HttpAgent } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import { addressProblem, check, object, type Check, type Fault } from '../options/index.js';

type Protocol = 'http' | 'https';

/** Agents supplied by a program, by the protocol of the service. */
export interface OwnAgents {
  readonly http?: HttpAgent | undefined;
  readonly https?: HttpsAgent | undefined;
}

const one = check('an agent of node:http or node:https', isAgent);
const byProtocol = object({ http: one, https: one });

/** Checks the agents of a program, by the protocols that they are for. */
export const agentsCheck: Check = {
  wants: byProtocol.wants,
  faults: (value, place) => {
    if (isAgent(value)) return [{ place, message: `pass { ${protocolOf(value) ?? 'https'}: agent }, keyed by protocol`, value }];
    const wrong = byProtocol.faults(value, place);
    return wrong.length > 0 || !isRecord(value) ? wrong : [...misplaced(value, place, 'http'), ...misplaced(value, place, 'https')];
  },
};

/** Extends a check of options: their address must match their agents, and some options do not go with any agent. */
export function withAgent(options: Check): Check {
  return {
    ...options,
    faults: (value, place) => {
      const faults = options.faults(value, place);
      if (!isRecord(value) || value['agent'] === undefined) return faults;
      return [...faults, ...unused(value), ...contradictions(value)];
    },
  };
}

/** Without an agent for the protocol of the address, requests would take another way than the program wants, and bypass the proxy, too. */
function unused({ agent, baseUrl }: Readonly<Record<string, unknown>>): readonly Fault[] {
  if (!isRecord(agent) || isAgent(agent) || addressProblem(baseUrl) !== undefined) return [];
  const protocol = new URL(String(baseUrl)).protocol.slice(0, -1);
  if (agent[protocol] !== undefined) return [];
  const message = `the base URL uses ${protocol}; leave agent out to let leadstream create one`;
  return [{ place: `agent.${protocol}`, message, value: undefined }];
}

function contradictions({ threads, proxy }: Readonly<Record<string, unknown>>): readonly Fault[] {
  const against = (place: string, why: string, value: unknown): Fault => ({
    place,
    message: `cannot be combined with agent: ${why}`,
    value,
  });
  return [
    ...(threads === 1 ? [against('threads', 'an agent cannot be passed to another thread; leave threads out', threads)] : []),
    ...(typeof proxy === 'string' ? [against('proxy', 'pass an agent that uses the proxy, or only the proxy', proxy)] : []),
  ];
}

function misplaced(agents: Readonly<Record<string, unknown>>, place: string, protocol: Protocol): readonly Fault[] {
  const agent = agents[protocol];
  const own = isAgent(agent) ? protocolOf(agent) : undefined;
  if (own === undefined || own === protocol) return [];
  return [{ place: `${place}.${protocol}`, message: `this agent is for ${own}; pass { ${own}: agent }`, value: agent }];
}

/** Returns the protocol that an agent of Node declares. An agent for both, like those of proxies, determines it for each request. */
function protocolOf(agent: object): Protocol | undefined {
  const said: unknown = Object.getOwnPropertyDescriptor(agent, 'protocol')?.value;
  return said === 'http:' ? 'http' : said === 'https:' ? 'https' : undefined;
}

function isAgent(value: unknown): value is object {
  return isRecord(value) && typeof value['addRequest'] === 'function';
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
