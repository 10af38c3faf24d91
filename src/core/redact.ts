import { printable } from './printable.js';

/** What is shorter is no secret: it is refused as a key, and it would be found in every other word. */
export const minSecretLength = 8;

/** Replaces every known credential in a text. */
export type Redactor = (text: string) => string;

/**
 * Makes the last line of defence of everything that is logged: each secret is replaced by `[redacted]`, as it is and
 * as it looks in a URL, a form, JSON and a message.
 *
 * @param secrets Credentials of the run. Shorter ones than 8 characters are ignored.
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
