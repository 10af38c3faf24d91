import type { z } from 'zod';
import { nodeRequire } from './version.js';

/** What zod exports as `z`. */
export type Zod = typeof z;

/**
 * Builds a schema, or several that belong together, at first use, and caches it.
 *
 * Every schema of this package is built this way: loading zod takes longer than everything else that most programs import from here, and
 * schemas take longer to build than to use.
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
 * Returns zod, loading it at the first call. Arguments are checked synchronously, so it is required rather than imported. This is the only
 * place that loads it, since an import elsewhere would load a second copy.
 */
export function zod(): Zod {
  loaded ??= (nodeRequire()('zod') as { readonly z: Zod }).z;
  return loaded;
}

let loaded: Zod | undefined;
