/**
 * Escapes everything in a text that controls a terminal or starts a new line: control characters (C0 and C1), line breaks and bidirectional
 * controls become JSON escapes. Everything from outside passes through here before it is printed.
 *
 * @example
 * printable('a\u001b[2J\nb'); // 'a\\u001b[2J\\nb'
 */
export function printable(text: string): string {
  return harmless.test(text) ? text : text.replaceAll(steering, (character) => short[character] ?? escaped(character));
}

/** Escapes a text of our own that has several lines; its line breaks are kept. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/**
 * Serializes a value as JSON without such characters. The value is unchanged, since they are escaped.
 *
 * @param options `redact` is applied to every text and name in the value, so that the result is valid JSON whatever the secrets are;
 * `indent` works as in `JSON.stringify`.
 */
export function jsonOf(value: unknown, options: { readonly redact?: (text: string) => string; readonly indent?: number } = {}): string {
  const { redact = (text) => text, indent } = options;
  return JSON.stringify(value, (_name, item: unknown) => redacted(item, redact), indent).replaceAll(besidesLines, escaped);
}

function redacted(item: unknown, redact: (text: string) => string): unknown {
  if (typeof item === 'string') return redact(item);
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return item;
  return Object.fromEntries(Object.entries(item).map(([name, inner]) => [redact(name), inner]));
}

const harmless = /^[ -~]*$/;
const steering = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;
/** Indented JSON has line breaks between its values. */
const besidesLines = /[^\P{Cc}\n]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

const short: Readonly<Record<string, string>> = { '\b': '\\b', '\t': '\\t', '\n': '\\n', '\f': '\\f', '\r': '\\r' };

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
