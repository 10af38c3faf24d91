/** What is wrong with the address of a proxy, in words that tell none of it: it may hold a password. */
export function proxyProblem(proxy: unknown): string | undefined {
  if (proxy === false) return undefined;
  const asked = 'must be the address of an HTTP proxy, as http://proxy.example:3128, or false for none';
  if (typeof proxy !== 'string' || !URL.canParse(proxy)) return asked;
  const { protocol, pathname, search, hash } = new URL(proxy);
  return /^https?:$/.test(protocol) && /^\/?$/.test(pathname) && search === '' && hash === '' ? undefined : asked;
}

/**
 * The proxy that requests to a service take.
 *
 * @param proxy What was asked for; `undefined` leaves it to the environment: `HTTPS_PROXY` or `HTTP_PROXY`, by the protocol of the service,
 * unless `NO_PROXY` has its host. Names in small letters are known as well, and come first.
 */
export function proxyFor(baseUrl: string, proxy: string | false | undefined, env: NodeJS.ProcessEnv = process.env): string | undefined {
  if (proxy !== undefined) return proxy === false ? undefined : proxy;
  const { protocol, hostname, port } = new URL(baseUrl);
  const name = protocol === 'https:' ? 'https_proxy' : 'http_proxy';
  const given = env[name] || env[name.toUpperCase()];
  if (!given || isExempt(hostname, port, env.no_proxy || env.NO_PROXY || '')) return undefined;
  return given.includes('://') ? given : `http://${given}`;
}

/** What of the address of a proxy no text may show. */
export function proxySecrets(proxy: string | undefined): readonly string[] {
  if (proxy === undefined || !URL.canParse(proxy)) return [];
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
