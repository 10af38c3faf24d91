import { X509Certificate } from 'node:crypto';

/** Describes what is wrong with a value that should be certificates in PEM. */
export function authoritiesProblem(ca: unknown): string | undefined {
  const asked = 'must be PEM certificates, as a text or a list of texts';
  for (const text of [ca].flat()) {
    if (typeof text !== 'string') return asked;
    const blocks = text.match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g);
    if (!blocks || !blocks.every(isCertificate)) return `${asked}; for a file, pass its contents`;
  }
  return undefined;
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).raw.length > 0;
  } catch {
    return false;
  }
}
