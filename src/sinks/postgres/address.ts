export interface Address {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly ssl: false | { readonly rejectUnauthorized: boolean; readonly checkServerIdentity?: () => undefined };
}

const sslModes: Readonly<Record<string, Address['ssl']>> = {
  disable: false,
  require: { rejectUnauthorized: false },
  'verify-ca': { rejectUnauthorized: true, checkServerIdentity: () => undefined },
  'verify-full': { rejectUnauthorized: true },
};

/** Parses the URL of a database. A problem does not show it. */
export function addressOf(text: string): Address | { readonly problem: string } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^postgres(?:ql)?:$/.test(url.protocol))
    return { problem: 'is not a URL like postgres://USER:PASSWORD@HOST:PORT/DATABASE' };
  // Otherwise the rest of the password would be part of the database, or of the name of a parameter, which are shown.
  if (`${url.pathname}${url.search}${url.hash}`.includes('@'))
    return { problem: 'has an @ behind its host; write %2F, %3F, %23 and %40 for /, ?, # and @ in a name or a password' };
  const others = [...url.searchParams.keys()].filter((name) => name !== 'sslmode' && name !== 'host');
  if (others.length > 0) return { problem: `has the parameter ${others.join(', ')}; only sslmode and host are accepted` };
  const host = url.searchParams.get('host') ?? partOf(url.hostname.replace(/^\[(.*)\]$/, '$1'));
  const [user, password, database] = [partOf(url.username), partOf(url.password), partOf(url.pathname.slice(1))];
  if (!host || !database || user === undefined || password === undefined)
    return { problem: 'needs a host and a database, and %25 for every %' };
  const isLocal = host.startsWith('/') || ['localhost', '127.0.0.1', '::1'].includes(host);
  const mode = url.searchParams.get('sslmode') ?? (isLocal ? 'disable' : '');
  const ssl = Object.hasOwn(sslModes, mode) ? sslModes[mode] : undefined;
  if (ssl === undefined) return { problem: `needs sslmode=verify-full, or one of ${Object.keys(sslModes).join(', ')}` };
  return { host, port: Number(url.port || 5432), database, user: user || undefined, password: password || undefined, ssl };
}

function partOf(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

/** Returns the parts of a URL that are secret by themselves. */
export function secretPartsOf(text: string): readonly string[] {
  const address = addressOf(text);
  return 'problem' in address ? [] : [address.password ?? ''];
}
