import { setMaxListeners } from 'node:events';
import type { Agent as HttpAgent, AgentOptions } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import { SourceError } from '../core/index.js';

/** Describes what is wrong with a program's proxy without showing any of its address, which may contain a password. */
export function proxyProblem(proxy: unknown): string | undefined {
  const fault = proxy === false ? undefined : faultOf(proxy);
  return fault && `${fault}, or false for none`;
}

function faultOf(proxy: unknown): string | undefined {
  try {
    const { protocol, pathname, search, hash, username, password } = new URL(typeof proxy === 'string' ? proxy : '');
    // Each percent sign must begin a character of UTF-8.
    decodeURIComponent(username + password);
    if (/^https?:$/.test(protocol) && /^\/?$/.test(pathname) && search === '' && hash === '') return undefined;
  } catch {
    // It is no address.
  }
  return 'must be the address of an HTTP proxy, like http://proxy.example:3128, with % in its user and password written as %25';
}

/** The address of the proxy that an environment names for a service, or what is wrong with it, with its variable and none of its value. */
export interface ProxyIn {
  readonly proxy: string | undefined;
  readonly problem: string | undefined;
}

/**
 * Returns the proxy of an environment: `HTTPS_PROXY` or `HTTP_PROXY`, by the protocol of the service, unless `NO_PROXY` contains its host. Names in lower case
 * work as well, and take precedence.
 */
export function proxyIn(baseUrl: string, env: Readonly<Record<string, string | undefined>>): ProxyIn {
  // A wrong base URL is reported elsewhere.
  if (!URL.canParse(baseUrl)) return { proxy: undefined, problem: undefined };
  const { protocol, hostname, port } = new URL(baseUrl);
  const usualPort = protocol === 'https:' ? '443' : '80';
  const small = protocol === 'https:' ? 'https_proxy' : 'http_proxy';
  const name = env[small] ? small : small.toUpperCase();
  const given = env[name];
  if (!given || isExempt(hostname, port || usualPort, env.no_proxy || env.NO_PROXY || '')) return { proxy: undefined, problem: undefined };
  const proxy = given.includes('://') ? given : `http://${given}`;
  const fault = faultOf(proxy);
  return fault === undefined ? { proxy, problem: undefined } : { proxy: undefined, problem: `the environment variable ${name} ${fault}` };
}

/** Returns the given proxy, or that of the environment of the process. @throws {SourceError} `E_SOURCE_CONFIG` if that is invalid. */
export function proxyFor(baseUrl: string, proxy: string | false | undefined): string | undefined {
  if (proxy !== undefined) return proxy === false ? undefined : proxy;
  const found = proxyIn(baseUrl, process.env);
  if (found.problem !== undefined) throw new SourceError('E_SOURCE_CONFIG', 'permanent', found.problem);
  return found.proxy;
}

/** Returns the parts of a proxy's address that no text may show. */
export function proxySecrets(proxy: string | false | undefined): readonly string[] {
  if (!proxy || faultOf(proxy) !== undefined) return [];
  const { password } = new URL(proxy);
  return password === '' ? [] : [password, decodeURIComponent(password)];
}

/** Whether a list like `localhost,.example.com,10.0.0.1:8080,*` contains a host: by its name, by the end of it, or with its port. */
function isExempt(hostname: string, port: string, list: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      if (entry === '*') return true;
      // An IPv6 address contains colons; with a port, it is in brackets.
      const [, bracketed, plain, wanted] = /^(?:\[(.*)\]|([^:]*|.*:.*:.*?))(?::(\d+))?$/.exec(entry) ?? [];
      const end = (bracketed ?? plain ?? '').replace(/^\*?\./, '');
      return end !== '' && (wanted === undefined || wanted === port) && (host === end || host.endsWith(`.${end}`));
    });
}

/** Where connections come from. */
export interface Agents {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
  /** Gives up connections that are not open yet. */
  abandon?(): void;
}

/** Returns agents whose requests use a proxy: a tunnel (`CONNECT`) to a service with TLS, otherwise a request to the proxy itself. */
export async function proxyAgents(proxy: string, connections: AgentOptions): Promise<Agents> {
  const [{ HttpProxyAgent }, { HttpsProxyAgent }] = await Promise.all([import('http-proxy-agent'), import('https-proxy-agent')]);
  // A tunnel that a proxy never opens outlives its request, and no agent knows of it.
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  const options = { ...connections, signal: closing.signal };
  // This agent takes both protocols, but in the types of Node it is for HTTP only.
  const https = new HttpsProxyAgent(proxy, options) as unknown as HttpsAgent;
  return { http: new HttpProxyAgent(proxy, options), https, abandon: () => closing.abort() };
}
