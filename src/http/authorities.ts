import { X509Certificate } from 'node:crypto';

/** Describes what is wrong with a value that should be certificates in PEM. */
export function authoritiesProblem(ca: unknown): string | undefined {
  const asked = 'must be certificates in PEM, as a text or a list of texts';
  for (const text of [ca].flat()) {
    if (typeof text !== 'string') return asked;
    const blocks = text.match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g);
    if (!blocks || !blocks.every(isCertificate)) return `${asked}; of a file, what is in it`;
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
