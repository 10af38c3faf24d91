import { randomBytes } from 'node:crypto';

export function amount(count: number): string {
  return count.toLocaleString('en-US');
}

/** Formats a count with its noun, like `1 row` or `1,204 rows`. */
export function amountOf(count: number, one: string, several = `${one}s`): string {
  return `${amount(count)} ${count === 1 ? one : several}`;
}

export function shareIn(text: string): number {
  return Number(text.replace('%', 'e-2'));
}

/** Compares rows with a share of all by its digits, as no binary number is 0.29: above 0 if there are more rows, 0 if exactly as many. */
export function compareShare(rows: number, share: number, all: number): bigint {
  const [, whole = '', fraction = '', exponent = '0'] = /^(\d+)\.?(\d*)(?:e(.+))?$/.exec(String(share)) ?? [];
  return BigInt(rows) * 10n ** BigInt(fraction.length - Number(exponent)) - BigInt(whole + fraction) * BigInt(all);
}

/** Returns whether an identifier can be a segment of a URL path: not empty, not only dots (URLs drop them), and valid Unicode. */
export function isAddressable(id: string): boolean {
  return !/^\.*$/.test(id) && id.isWellFormed();
}

/** Creates a run id: unique, sortable by time, safe in file names. */
export function newRunId(startedAt = new Date().toISOString()): string {
  return `${startedAt.slice(0, 23).replaceAll(/[-:.]/g, '')}Z-${randomBytes(4).toString('hex')}`;
}

/** Hashes bytes to a signed 32-bit number (FNV-1a), whose low bits depend little on the last bytes. */
export function hashOfBytes(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
  return hash;
}

/** Escapes everything that controls a terminal or starts a new line. All text from outside passes through here before it is printed. */
export function printable(text: string): string {
  return harmless.test(text) ? text : text.replaceAll(steering, (character) => short[character] ?? escaped(character));
}

/** Serializes a value as JSON with such characters escaped. `redact` is applied to each text and name, so that the JSON stays valid. */
export function jsonOf(value: unknown, options: { readonly redact?: (text: string) => string; readonly indent?: number } = {}): string {
  const { redact = (text) => text, indent } = options;
  return JSON.stringify(value, (_name, item: unknown) => redacted(item, redact), indent).replaceAll(steeringExceptLines, escaped);
}

function redacted(item: unknown, redact: (text: string) => string): unknown {
  if (typeof item === 'string') return redact(item);
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return item;
  return Object.fromEntries(Object.entries(item).map(([name, inner]) => [redact(name), inner]));
}

const harmless = /^[ -~]*$/;
const steering = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;
/** Indented JSON has line breaks between its values. */
const steeringExceptLines = /[^\P{Cc}\n]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

const short: Readonly<Record<string, string>> = { '\b': '\\b', '\t': '\\t', '\n': '\\n', '\f': '\\f', '\r': '\\r' };

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Shorter keys are refused: they would match parts of ordinary words. */
export const minSecretLength = 8;

export type Redactor = (text: string) => string;

/** Replaces each secret of at least 8 characters by `[redacted]`, also where it is encoded for a URL, a form, JSON or a message. */
export function createRedactor(secrets: Iterable<string>): Redactor {
  const needles = [...new Set([...secrets].filter((secret) => secret.length >= minSecretLength).flatMap(spellings))].sort(
    (a, b) => b.length - a.length,
  );
  return (text) => needles.reduce((clean, needle) => clean.replaceAll(needle, '[redacted]'), text);
}

function spellings(secret: string): readonly string[] {
  const quoted = JSON.stringify(secret).slice(1, -1);
  const inForm = new URLSearchParams({ k: secret }).toString().slice(2);
  return [secret, encodeURIComponent(secret), inForm, quoted, printable(secret), printable(quoted)];
}

/** Describes an unknown name, with the known ones if they are few. @param withheld Fields that `reveal` must name first. */
export function unknownName(kind: string, name: string, known: readonly string[], withheld: readonly string[] = []): string {
  if (withheld.includes(name)) return `field '${name}' is secret; name it under reveal to use it`;
  return `unknown ${kind} '${name}'${listed(known)}`;
}

export function listed(known: readonly string[]): string {
  return known.length === 0 || known.length > 25 ? '' : `; there are ${known.join(', ')}`;
}

/** Returns a name in snake_case, such as `tc_base64_api_key` for `TC_base64ApiKey`: split at non-alphanumerics and at humps. */
export function snakeCase(name: string): string {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '');
  return words.length === 0 ? 'field' : words.join('_').toLowerCase();
}
