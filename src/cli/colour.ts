import { styleText } from 'node:util';

/** What a text is about: `good` or `bad` news, something to `beware` of, or an `aside`. */
export type Tone = 'good' | 'bad' | 'beware' | 'aside';

/** Colours a text, or leaves it as it is. */
export type Painter = (tone: Tone, text: string) => string;

const colours = { good: 'green', bad: 'red', beware: 'yellow', aside: 'gray' } as const satisfies Readonly<Record<Tone, string>>;

/** Leaves every text as it is. */
export const plain: Painter = (_tone, text) => text;

/**
 * Returns the painter for a stream: colours on a terminal that supports them, unless `NO_COLOR` (https://no-color.org) is set to anything, and never in a pipe
 * or a file.
 */
export function painterFor({ isTTY = false }: { readonly isTTY?: boolean }, env: Readonly<Record<string, string | undefined>>): Painter {
  if (!isTTY || env['NO_COLOR'] || env['TERM'] === 'dumb') return plain;
  return (tone, text) => styleText(colours[tone], text, { validateStream: false });
}

/** The part of a message that identifies it: its code, or its place in a file. */
const heads = /^(?:leadstream: )?(?:[EW]_[A-Z_]+(?=:)|\S+:\d+:\d+(?= ))/;

/** Colours the head of a message. */
export function paintedHead(message: string, tone: Tone, paint: Painter): string {
  return message.replace(heads, (head) => paint(tone, head));
}
