import { readFileSync } from 'node:fs';
import * as tls from 'node:tls';

/** Returns the authorities that Node trusts. Authorities that are given would replace them, so they must be listed together. */
export function usualAuthorities(): readonly string[] {
  // Available from Node 22.15; the installed types are older.
  const { getCACertificates, rootCertificates }: Trusted = tls;
  if (getCACertificates) return getCACertificates('default');
  const extra = process.env.NODE_EXTRA_CA_CERTS;
  return extra ? [...rootCertificates, readFileSync(extra, 'utf8')] : rootCertificates;
}

interface Trusted {
  readonly rootCertificates: readonly string[];
  readonly getCACertificates?: (kind: 'default') => readonly string[];
}
