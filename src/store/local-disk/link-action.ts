import type { z } from 'zod';
import { schema } from '../../core/index.js';

/**
 * Puts a link in place of another one, of an empty folder, or of nothing, in one step: readers of `at` see what it points to before, or what
 * it points to afterwards.
 */
export interface LinkAction {
  readonly action: 'link';
  /** Where the link is to be. Absolute path. */
  readonly at: string;
  /** What it points to, relative to its folder. */
  readonly to: string;
  /** The same link under a name that readers ignore, which is renamed to `at`. Absolute path. */
  readonly draft: string;
}

/** How it stands in the redo log. */
export const linkAction = schema((z): z.ZodType<LinkAction> =>
  z.strictObject({ action: z.literal('link'), at: z.string(), to: z.string(), draft: z.string() }),
);
