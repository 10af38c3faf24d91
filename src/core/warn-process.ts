import type { Warning } from './errors.js';

/** Emits a process warning for what would otherwise go unnoticed. Node prints it on stderr, unless a program handles warnings itself. */
export function warnProcess({ code, message }: Warning): void {
  process.emitWarning(message, { type: 'LeadstreamWarning', code });
}
