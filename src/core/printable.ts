/**
 * A text without anything that steers a terminal or begins a line: control characters (C0 and C1), ends of lines and turned directions
 * of writing are shown as JSON escapes them. Everything that comes from outside passes here before it is printed.
 *
 * @example
 * printable('a\u001b[2J\nb'); // 'a\\u001b[2J\\nb'
 */
export function printable(text: string): string {
  return harmless.test(text) ? text : text.replaceAll(steering, (character) => short[character] ?? escaped(character));
}

/** The same for a text of several lines of our own: their ends stay. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/**
 * A value as JSON without such characters: it says the same, since they stand escaped.
 *
 * @param options `redact` is applied to every text and name in the value, so that what comes out is JSON whatever the secrets are;
 * `indent` as of `JSON.stringify`.
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
/** JSON that is indented has ends of lines between its values. */
const besidesLines = /[^\P{Cc}\n]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

const short: Readonly<Record<string, string>> = { '\b': '\\b', '\t': '\\t', '\n': '\\n', '\f': '\\f', '\r': '\\r' };

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
