import type { z } from 'zod';
import { schema } from '../../core/index.js';

/** Size and digest of a file. */
export interface FileContent {
  readonly bytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

/**
 * What a file must contain before it is renamed. A file of an earlier run has no SHA-256 here, since that would mean reading the whole table for every append.
 */
export type ExpectedContent = Pick<FileContent, 'bytes'> & Partial<Pick<FileContent, 'sha256'>>;

/** Renames an existing file or folder, replacing a file at `to` in one step. Absolute paths. */
export interface RenameAction {
  readonly action: 'rename';
  readonly from: string;
  readonly to: string;
  /** What the file at `from` must contain. */
  readonly file?: ExpectedContent;
}

/** Its form in the redo log. */
export const renameAction = schema((z): z.ZodType<RenameAction> => {
  const content = z.strictObject({ bytes: z.int().nonnegative(), sha256: z.string().exactOptional() });
  return z.strictObject({ action: z.literal('rename'), from: z.string(), to: z.string(), file: content.exactOptional() });
});
