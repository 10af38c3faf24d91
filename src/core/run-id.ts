import { randomBytes } from 'node:crypto';

/**
 * Creates the id of a run: unique, sortable by time, safe in file names.
 *
 * @param startedAt ISO 8601. Default: now.
 */
export function newRunId(startedAt = new Date().toISOString()): string {
  return `${startedAt.slice(0, 23).replaceAll(/[-:.]/g, '')}Z-${randomBytes(4).toString('hex')}`;
}
