import { catalogue } from '../core/index.js';
import type { Finding } from '../index.js';
import type { Console } from './console.js';

/** Exit code for a file that is wrong, or has a warning that counts as an error. */
export const refusedExit = catalogue.E_SPEC_INVALID.exit;

/** Warns of something in a file that is valid but probably not meant, in the form that editors recognize. */
export function warnOf(file: string, { code, line, column, message }: Omit<Finding, 'severity'>, console: Console): void {
  console.event('file.warned', { code, file, line, column }, `${code}: ${file}:${line}:${column} ${message}`);
}

/** Reports a problem in a file, in the form that editors recognize. */
export function refuse(file: string, { code, line, column, message }: Omit<Finding, 'severity'>, console: Console): void {
  const place = `${file}:${line}:${column} ${message}`;
  // People who treat warnings as errors recognize them by their codes.
  console.event('file.refused', { code, file, line, column, exit: refusedExit }, code.startsWith('W_') ? `${code}: ${place}` : place);
}
