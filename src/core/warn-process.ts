import type { Warning } from './errors.js';

/** Tells the process of what nobody else would hear. Node prints it on stderr, unless a program does something else with its warnings. */
export function warnProcess({ code, message }: Warning): void {
  process.emitWarning(message, { type: 'LeadstreamWarning', code });
}
