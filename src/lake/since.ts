import type { z } from 'zod';
import { schema } from '../core/index.js';

const count = schema((z) => z.number().int().nonnegative());

/** What a run with `since` leaves to the next one, committed with its rows. */
export const sinceShape = schema((z) =>
  z.object({
    /** The run, also after a compaction. */
    run: z.string(),
    /** Digest of the pipeline, the service and the account. */
    of: z.string(),
    /** Start of the last run that read the whole list. */
    whole: z.iso.datetime(),
    /** The run that found rows which earlier ones had missed, so that the whole list is read from then on. */
    off: z.string().optional(),
    /**
     * The end of the list: where the next run begins, how many rows followed and their digest, and the size of pages; absent if the list
     * changed while it was read. One digest for at least a page, as those of single rows could confirm guesses of masked values.
     */
    end: z.object({ from: count(), rows: count(), size: count(), sha256: z.string() }).optional(),
  }),
);

export type SinceState = z.output<ReturnType<typeof sinceShape>>;
