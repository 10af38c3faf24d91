import { readFileSync } from 'node:fs';
import * as tls from 'node:tls';

/** Those that Node trusts, which authorities that are given would replace: they have to be named with them. */
export function usualAuthorities(): readonly string[] {
  // From Node 22.15 on; its types are those of an older one.
  const { getCACertificates, rootCertificates }: Trusted = tls;
  if (getCACertificates) return getCACertificates('default');
  const extra = process.env.NODE_EXTRA_CA_CERTS;
  return extra ? [...rootCertificates, readFileSync(extra, 'utf8')] : rootCertificates;
}

interface Trusted {
  readonly rootCertificates: readonly string[];
  readonly getCACertificates?: (kind: 'default') => readonly string[];
}
