import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as tls from 'node:tls';

/** What is wrong with what ought to be certificates in PEM, in words. */
export function authoritiesProblem(ca: unknown): string | undefined {
  const asked = 'must be certificates in PEM, as a text or a list of texts';
  for (const text of [ca].flat()) {
    if (typeof text !== 'string') return asked;
    const blocks = text.match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g);
    if (!blocks || !blocks.every(isCertificate)) return `${asked}; of a file, what is in it`;
  }
  return undefined;
}

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

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).raw.length > 0;
  } catch {
    return false;
  }
}
