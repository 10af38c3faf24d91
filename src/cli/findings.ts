import { catalogue } from '../core/index.js';
import type { Finding } from '../index.js';
import type { Console } from './console.js';

/** What a command ends with for a file that is wrong, or has a warning that counts as an error. */
export const refusedExit = catalogue.E_SPEC_INVALID.exit;

/** Tells what is right in a file and probably not meant, where editors look for it. */
export function warnOf(file: string, { code, line, column, message }: Omit<Finding, 'severity'>, console: Console): void {
  console.event('file.warned', { code, file, line, column }, `${code}: ${file}:${line}:${column} ${message}`);
}

/** Tells what is wrong with a file, where editors look for it. */
export function refuse(file: string, { code, line, column, message }: Omit<Finding, 'severity'>, console: Console): void {
  const place = `${file}:${line}:${column} ${message}`;
  // Whoever treats warnings as errors knows them by their codes.
  console.event('file.refused', { code, file, line, column, exit: refusedExit }, code.startsWith('W_') ? `${code}: ${place}` : place);
}
