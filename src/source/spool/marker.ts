import { join } from 'node:path';
import type { z } from 'zod';
import { LeadstreamError, schema } from '../../core/index.js';
import { readOwn, replaceFile } from '../../store/index.js';
import { isLost } from './record.js';

const marker = schema((z) =>
  z.object({
    /** When the first of the runs that share these pages started, ISO 8601. */
    startedAt: z.iso.datetime(),
    /** Age from which these pages are useless, in milliseconds. */
    maxAgeMs: z.number(),
  }),
);

/** The age of a source's pages, and its maximum. */
export type Marker = z.output<ReturnType<typeof marker>>;

export const markerName = 'started.json';

/** Reads the marker of a source's folder; `undefined` if it is missing or damaged, in which case the pages have no known age. */
export async function readMarker(folder: string): Promise<Marker | undefined> {
  const text = await readOwn(join(folder, markerName)).catch(unlessUseless);
  if (text === undefined) return undefined;
  try {
    return marker().safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Rethrows any other failure: pages must not be discarded because no more files could be opened. */
function unlessUseless(thrown: unknown): undefined {
  if (isLost(thrown) || (thrown instanceof LeadstreamError && thrown.code === 'E_STATE_FOREIGN')) return undefined;
  throw thrown;
}

/** Writes the marker, before the first page, so that no page is older than it seems. */
export async function writeMarker(folder: string, { startedAt, maxAgeMs }: Marker): Promise<void> {
  await replaceFile(join(folder, markerName), `${JSON.stringify({ startedAt, maxAgeMs })}\n`, { mode: 0o600 });
}

/** Returns whether pages may still be used. Pages dated in the future come from a wrong clock. */
export function isFresh(found: Marker | undefined, now: number, maxAgeMs = found?.maxAgeMs ?? 0): boolean {
  return found !== undefined && Math.abs(now - Date.parse(found.startedAt)) <= maxAgeMs;
}
