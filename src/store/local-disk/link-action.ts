import type { z } from 'zod';
import { schema } from '../../core/index.js';

/**
 * Puts a link in place of another link, an empty folder, or nothing, in one step: readers of `at` see
 * either what it pointed to before or what it points to afterwards.
 */
export interface LinkAction {
  readonly action: 'link';
  /** Where the link is created. Absolute path. */
  readonly at: string;
  /** What it points to, relative to its folder. */
  readonly to: string;
  /** The same link under a name that readers ignore, to be renamed to `at`. Absolute path. */
  readonly draft: string;
}

/** Its form in the redo log. */
export const linkAction = schema((z): z.ZodType<LinkAction> =>
  z.strictObject({ action: z.literal('link'), at: z.string(), to: z.string(), draft: z.string() }),
);
