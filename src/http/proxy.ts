import { SourceError } from '../core/index.js';

/** What is wrong with the proxy that a program names, in words that tell none of its address: it may hold a password. */
export function proxyProblem(proxy: unknown): string | undefined {
  const fault = proxy === false ? undefined : faultOf(proxy);
  return fault && `${fault}, or false for none`;
}

function faultOf(proxy: unknown): string | undefined {
  const asked = 'must be the address of an HTTP proxy, as http://proxy.example:3128';
  if (typeof proxy !== 'string' || !URL.canParse(proxy)) return asked;
  const { protocol, pathname, search, hash, username, password } = new URL(proxy);
  if (!/^https?:$/.test(protocol) || !/^\/?$/.test(pathname) || search !== '' || hash !== '') return asked;
  return decodes(username) && decodes(password) ? undefined : `${asked}, with % in its user and password written as %25`;
}

/** Whether each percent sign begins a character of UTF-8. */
function decodes(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** What an environment says of the way to a service. */
export interface ProxyIn {
  /** Address of the proxy; `undefined` for none. */
  readonly proxy: string | undefined;
  /** What is wrong with it, in words that name its variable and tell none of its value. */
  readonly problem: string | undefined;
}

/**
 * The proxy of an environment: `HTTPS_PROXY` or `HTTP_PROXY`, by the protocol of the service, unless `NO_PROXY` has its host. Names in small
 * letters are known as well, and come first.
 */
export function proxyIn(baseUrl: string, env: Readonly<Record<string, string | undefined>>): ProxyIn {
  // What is wrong with that address is said elsewhere.
  if (!URL.canParse(baseUrl)) return { proxy: undefined, problem: undefined };
  const { protocol, hostname, port } = new URL(baseUrl);
  const usualPort = protocol === 'https:' ? '443' : '80';
  const small = protocol === 'https:' ? 'https_proxy' : 'http_proxy';
  const name = env[small] ? small : small.toUpperCase();
  const given = env[name];
  if (!given || isExempt(hostname, port || usualPort, env.no_proxy || env.NO_PROXY || '')) return { proxy: undefined, problem: undefined };
  const proxy = given.includes('://') ? given : `http://${given}`;
  const fault = faultOf(proxy);
  return fault === undefined ? { proxy, problem: undefined } : { proxy: undefined, problem: `the ${name} of the environment ${fault}` };
}

/**
 * The proxy that requests to a service take.
 *
 * @param proxy What was asked for; `undefined` leaves it to the environment of the process.
 * @throws {SourceError} `E_SOURCE_CONFIG` where the environment names one that cannot be.
 */
export function proxyFor(baseUrl: string, proxy: string | false | undefined): string | undefined {
  if (proxy !== undefined) return proxy === false ? undefined : proxy;
  const found = proxyIn(baseUrl, process.env);
  if (found.problem !== undefined) throw new SourceError('E_SOURCE_CONFIG', 'permanent', found.problem);
  return found.proxy;
}

/** What of the address of a proxy no text may show. */
export function proxySecrets(proxy: string | false | undefined): readonly string[] {
  if (!proxy || faultOf(proxy) !== undefined) return [];
  const { password } = new URL(proxy);
  return password === '' ? [] : [password, decodeURIComponent(password)];
}

/** Whether a list like `localhost,.example.com,10.0.0.1:8080,*` has a host: by its name, by the end of it, or with its port. */
function isExempt(hostname: string, port: string, list: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      if (entry === '*') return true;
      // An address of IPv6 has colons of its own; with a port it stands in brackets.
      const [, bracketed, plain, wanted] = /^(?:\[(.*)\]|([^:]*|.*:.*:.*?))(?::(\d+))?$/.exec(entry) ?? [];
      const end = (bracketed ?? plain ?? '').replace(/^\*?\./, '');
      return end !== '' && (wanted === undefined || wanted === port) && (host === end || host.endsWith(`.${end}`));
    });
}
