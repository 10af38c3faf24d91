import type { z } from 'zod';
import { schema } from '../../core/index.js';

/** What was written to a file. */
export interface FileContent {
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

/** What a file has to hold before it is renamed. One that an earlier run wrote has no SHA-256 here: all of a table would be read for every append. */
export type ExpectedContent = Pick<FileContent, 'bytes'> & Partial<Pick<FileContent, 'sha256'>>;

/** Renames something that is there; a file at `to` is replaced in one step. Absolute paths. */
export interface RenameAction {
  readonly action: 'rename';
  readonly from: string;
  readonly to: string;
  /** What the file at `from` has to hold. */
  readonly file?: ExpectedContent;
}

/** How it stands in the redo log. */
export const renameAction = schema((z): z.ZodType<RenameAction> => {
  const content = z.strictObject({ bytes: z.int().nonnegative(), sha256: z.string().exactOptional() });
  return z.strictObject({ action: z.literal('rename'), from: z.string(), to: z.string(), file: content.exactOptional() });
});
