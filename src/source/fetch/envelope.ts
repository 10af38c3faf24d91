import type { z } from 'zod';
import { schema, SourceError } from '../../core/index.js';
import type { Position } from './position.js';

const position = schema((z) => z.object({ path: z.string(), parameters: z.array(z.tuple([z.string(), z.string()])).readonly() }));

const head = schema((z) => z.object({ position: position(), next: position().nullable() }));

/** Packs a page without a number for storage: its position and that of the next page, on a line of JSON before the answer. */
export function packed(known: { readonly position: Position; readonly next: Position | undefined }, answer: Uint8Array): Uint8Array {
  const line = { position: known.position, next: known.next ?? null } satisfies z.input<ReturnType<typeof head>>;
  return Buffer.concat([Buffer.from(`${JSON.stringify(line)}\n`), answer]);
}

/**
 * @throws {SourceError} `E_SOURCE_ANSWER` for bytes that were not packed this way.
 */
export function opened(bytes: Uint8Array): {
  readonly position: Position;
  readonly next: Position | undefined;
  readonly answer: Uint8Array;
} {
  const end = bytes.indexOf(lineFeed);
  const known = end < 0 ? undefined : head().safeParse(parsed(bytes.subarray(0, end))).data;
  if (known === undefined) throw new SourceError('E_SOURCE_ANSWER', 'permanent', 'a stored page is damaged');
  return { position: known.position, next: known.next ?? undefined, answer: bytes.subarray(end + 1) };
}

/** Returns whether two positions are the same. */
export function isSame(one: Position | undefined, other: Position | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

const lineFeed = 0x0a;

function parsed(line: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(line).toString('utf8'));
  } catch {
    return undefined;
  }
}
