import { setMaxListeners } from 'node:events';
import type { Agent as HttpAgent, AgentOptions } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import { BlockList, isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { wrongOption, type Warning } from '../core/index.js';

/** Describes what is wrong with the address of a proxy without showing any of it: it may contain a password. */
export function proxyProblem(proxy: unknown): string | undefined {
  try {
    const { protocol, pathname, search, hash, username, password } = new URL(typeof proxy === 'string' ? proxy : '');
    // Each percent sign must begin a character of UTF-8.
    decodeURIComponent(username + password);
    if (/^https?:$/.test(protocol) && /^\/?$/.test(pathname) && search === '' && hash === '') return undefined;
  } catch {
    // Not an address.
  }
  return 'must be the address of an HTTP proxy, like http://proxy.example:3128, with % in its user and password written as %25';
}

/** The proxy that an environment names for a service, or what is wrong with it, by its variable without the value. */
export interface ProxyIn {
  readonly proxy?: string;
  readonly problem?: string;
  /** Invalid entries of `NO_PROXY`, because of which requests may use a proxy that they should not. */
  readonly warning?: Warning;
}

/** Returns the proxy of an environment, unless `NO_PROXY` has the service's host. Lower-case names take precedence. */
export function proxyIn(baseUrl: string, env: Readonly<Record<string, string | undefined>>): ProxyIn {
  // A wrong base URL is reported elsewhere.
  if (!URL.canParse(baseUrl)) return {};
  const { protocol, hostname, port } = new URL(baseUrl);
  const usualPort = protocol === 'https:' ? '443' : '80';
  const small = protocol === 'https:' ? 'https_proxy' : 'http_proxy';
  const name = env[small] ? small : small.toUpperCase();
  const given = env[name];
  if (!given) return {};
  const host = hostname.replace(/^\[|\]$|\.$/g, '');
  const entries = (env.no_proxy || env.NO_PROXY || '')
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean);
  const verdicts = entries.map((entry) => isExempt(host, port || usualPort, entry));
  if (verdicts.includes(true)) return {};
  const proxy = given.includes('://') ? given : `http://${given}`;
  const fault = proxyProblem(proxy);
  if (fault !== undefined) return { problem: `the environment variable ${name} ${fault}` };
  // An entry with an @ may contain a password.
  const unclear = entries.flatMap((entry, index) => (verdicts[index] === undefined ? entry.replace(/^.*@.*$/, '…@…') : []));
  const message = `NO_PROXY has invalid entries (${unclear.join(', ')}), so requests to ${host} use the proxy`;
  return { proxy, ...(unclear.length > 0 && { warning: { code: 'W_SOURCE_PROXY', message } }) };
}

/** Returns the given proxy, or the environment's. @throws {SourceError} `E_SOURCE_CONFIG` if that is invalid. */
export function proxyFor(baseUrl: string, proxy: string | false | undefined, warn?: (warning: Warning) => void): string | undefined {
  if (proxy !== undefined) return proxy === false ? undefined : proxy;
  const found = proxyIn(baseUrl, process.env);
  if (found.warning) warn?.(found.warning);
  if (found.problem !== undefined) throw wrongOption(found.problem);
  return found.proxy;
}

/** Returns the parts of a proxy's address that no text may show. */
export function proxySecrets(proxy: string | false | undefined): readonly string[] {
  if (!proxy || proxyProblem(proxy) !== undefined) return [];
  const { password } = new URL(proxy);
  return password === '' ? [] : [password, decodeURIComponent(password)];
}

/** Whether an entry like `.example.com`, `10.0.0.1:8080`, `10.0.0.0/8` or `*` contains a host; `undefined` for an invalid entry. */
function isExempt(host: string, port: string, entry: string): boolean | undefined {
  if (entry === '*') return true;
  const familyOf = (address: string) => (isIP(address) === 4 ? 'ipv4' : 'ipv6');
  // An IPv6 address contains colons; with a port, it is in brackets.
  const [, bracketed, plain = '', wanted = port] = /^(?:\[(.*)\]|([^:]*|.*:.*:.*?))(?::(\d+))?$/.exec(entry) ?? [];
  const [name = '', bits] = (bracketed ?? plain).split(/\/(?=\d+$)/);
  if (isIP(name) > 0) {
    const size = isIP(name) === 4 ? 32 : 128;
    const network = new BlockList();
    if (Number(bits ?? size) > size) return undefined;
    network.addSubnet(name, Number(bits ?? size), familyOf(name));
    return wanted === port && isIP(host) > 0 && network.check(host, familyOf(host));
  }
  const end = domainToASCII(name.replace(/^\*?\./, '').replace(/\.$/, ''));
  // A name does not end in a number, unlike part of an address.
  if (bits !== undefined || !/^(?:[\w-]+\.)*(?!\d+$)[\w-]+$/.test(end)) return undefined;
  return wanted === port && (host === end || host.endsWith(`.${end}`));
}

export interface Agents {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
  abandon?(): void;
}

/** Returns agents that use a proxy: by a tunnel (`CONNECT`) to a service with TLS, otherwise by a request to the proxy. */
export async function proxyAgents(proxy: string, connections: AgentOptions): Promise<Agents> {
  const [{ HttpProxyAgent }, { HttpsProxyAgent }] = await Promise.all([import('http-proxy-agent'), import('https-proxy-agent')]);
  // A tunnel that a proxy never opens outlives its request, and no agent knows of it.
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  const options = { ...connections, signal: closing.signal };
  // This agent handles both protocols, but its types are for HTTP only.
  const https = new HttpsProxyAgent(proxy, options) as unknown as HttpsAgent;
  return { http: new HttpProxyAgent(proxy, options), https, abandon: () => closing.abort() };
}
