import type { ConnectionOptions } from 'node:tls';

export type Address = NonNullable<ReturnType<typeof addressOf>>;

const sslModes: Readonly<Record<string, false | ConnectionOptions>> = {
  disable: false,
  require: { rejectUnauthorized: false },
  'verify-ca': { rejectUnauthorized: true, checkServerIdentity: () => undefined },
  'verify-full': { rejectUnauthorized: true },
};

/** Says what is accepted, not what was given, since that may be a part of a password. */
export const addressProblem =
  'must be like postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full, with %2F, %3F, %23, %40 and %25 for /, ?, #, @ and % in ' +
  `names and passwords; sslmode is ${Object.keys(sslModes).join(', ')}, and may be missing for this machine only`;

/** Parses the URL of a database. @returns `undefined` for any other text. */
export function addressOf(text: string) {
  try {
    const { protocol, hostname, port, username, password, pathname, search, searchParams, hash } = new URL(text);
    const names = [hostname.replace(/^\[(.*)\]$/, '$1'), pathname.slice(1), username, password].map((part) => decodeURIComponent(part));
    const [host = '', database = '', user, secret] = names;
    // Otherwise the rest of a password that is not escaped would be part of the database, which is shown.
    const isCut = `${pathname}${search}${hash}`.includes('@');
    const isOther = [...searchParams.keys()].some((name) => name !== 'sslmode');
    if (!/^postgres(?:ql)?:$/.test(protocol) || isCut || isOther || host === '' || database === '') return undefined;
    const isLocal = host.startsWith('/') || ['localhost', '127.0.0.1', '::1'].includes(host);
    const mode = searchParams.get('sslmode') ?? (isLocal ? 'disable' : '');
    const ssl = Object.hasOwn(sslModes, mode) ? sslModes[mode] : undefined;
    if (ssl === undefined) return undefined;
    // Drivers before 8.23.1 check the certificate of an address without a name against localhost.
    const tls = ssl && { ...ssl, host };
    return { host, port: Number(port || 5432), database, user: user || undefined, password: secret || undefined, ssl: tls };
  } catch {
    return undefined;
  }
}
