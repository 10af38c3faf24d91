import type { z } from 'zod';
import { nodeRequire } from './node-require.js';

/** What zod exports as `z`. */
export type Zod = typeof z;

/**
 * Makes a schema, or several that belong together, when it is first asked for, and keeps it.
 *
 * Every schema of this package is made so, because zod takes longer to load than all that most programs import of us, and schemas take
 * longer to build than to use.
 *
 * @example
 * const marker = schema((z) => z.object({ startedAt: z.iso.datetime() }));
 * type Marker = z.output<ReturnType<typeof marker>>;
 * marker().safeParse(value);
 */
export function schema<T>(build: (z: Zod) => T): () => T {
  let built: { readonly value: T } | undefined;
  return () => (built ??= { value: build(zod()) }).value;
}

/**
 * zod, loaded at the first call. Arguments are checked before a function returns, so that it has to be there at once: it is required and
 * not imported, here and nowhere else, since a second one would be loaded beside it.
 */
export function zod(): Zod {
  loaded ??= (nodeRequire()('zod') as { readonly z: Zod }).z;
  return loaded;
}

let loaded: Zod | undefined;
