import { printable } from './text.js';

/** Anything shorter is not a secret: it is refused as a key, and would match parts of ordinary words. */
export const minSecretLength = 8;

/** Replaces every known credential in a text. */
export type Redactor = (text: string) => string;

/**
 * Creates the last line of defence for everything logged: each secret is replaced by `[redacted]`, both as it is and as it appears in a
 * URL, a form, JSON and a message.
 *
 * @param secrets Credentials of the run. Those shorter than 8 characters are ignored.
 */
export function createRedactor(secrets: Iterable<string>): Redactor {
  const needles = [...new Set([...secrets].filter((secret) => secret.length >= minSecretLength).flatMap(spellings))].sort(
    (a, b) => b.length - a.length,
  );
  return (text) => needles.reduce((clean, needle) => clean.replaceAll(needle, '[redacted]'), text);
}

function spellings(secret: string): readonly string[] {
  const quoted = JSON.stringify(secret).slice(1, -1);
  return [
    secret,
    encodeURIComponent(secret),
    new URLSearchParams({ k: secret }).toString().slice(2),
    quoted,
    printable(secret),
    printable(quoted),
  ];
}
