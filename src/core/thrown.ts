import { catalogue } from './catalogue.js';
import { LeadstreamError } from './errors.js';

/**
 * Describes what someone else's function threw without revealing data: its class, an error code like those of systems and databases, and
 * the place in the code. The message may contain anything, so it is left out; it is available through `cause`.
 *
 * @example
 * whatWasThrown(new RangeError('no such zip: 10001')); // 'RangeError (at /srv/steps.mjs:12:9)'
 */
export function whatWasThrown(thrown: unknown): string {
  if (!(thrown instanceof Error)) return thrown === null ? 'null' : `a value of type ${typeof thrown}`;
  const { name } = thrown;
  const code = 'code' in thrown && typeof thrown.code === 'string' && codePattern.test(thrown.code) ? ` ${thrown.code}` : '';
  const place = placeOf(thrown);
  return `${namePattern.test(name) ? name : 'Error'}${code}${place === undefined ? '' : ` (at ${place})`}`;
}

const namePattern = /^[A-Za-z_$][\w$]{0,60}$/;
const codePattern = /^[A-Z0-9_]{2,40}$/;

/**
 * Returns where it was thrown: the first line of the stack that names a file. The message comes before the stack frames, and may look like one.
 */
function placeOf({ stack, message }: Error): string | undefined {
  const at = stack?.indexOf(message) ?? -1;
  const frames = at < 0 ? '' : (stack?.slice(at + message.length) ?? '');
  return /^\s+at (?:.*\()?(?:file:\/\/)?(\/[^\n]*?:\d+:\d+)\)?$/m.exec(frames)?.[1];
}

/** Returns the text of anything thrown, for our own messages (some libraries throw strings). */
export function reasonOf(thrown: unknown): string {
  if (typeof thrown === 'object' && thrown !== null && 'message' in thrown) return String(thrown.message);
  return typeof thrown === 'string' ? thrown : 'unknown failure';
}

/**
 * Converts something thrown into a failure if it means that a system limit was reached, for open files or memory. Returns `undefined` for
 * anything else, and for leadstream's own failures.
 *
 * @param message Default: the message of what was thrown.
 */
export function limitReached(thrown: unknown, message = reasonOf(thrown)): LeadstreamError | undefined {
  if (thrown instanceof LeadstreamError || typeof thrown !== 'object' || thrown === null) return undefined;
  const said = reasonOf(thrown);
  const code = 'code' in thrown ? String(thrown.code) : '';
  // If a thread could not start, only the message has the reason.
  const reason = code === 'ERR_WORKER_INIT_FAILED' ? (/\bE[A-Z]+$/.exec(said)?.[0] ?? '') : code;
  if (tooManyFiles.has(reason)) return new LeadstreamError('E_RUN_FILES', message, { cause: thrown });
  if (noMemory.has(reason) || ranOut.test(said)) return new LeadstreamError('E_RUN_MEMORY', message, { cause: thrown });
  return undefined;
}

const tooManyFiles: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE']);
const noMemory: ReadonlySet<string> = new Set(['ENOMEM', 'ERR_WORKER_OUT_OF_MEMORY', 'ERR_MEMORY_ALLOCATION_FAILED']);

/** V8's messages when it gets no memory; such errors have no code. */
const ranOut = /^(?:WebAssembly\.[^]*(?:out of memory|could not allocate)|Array buffer allocation failed)/i;

/**
 * What something thrown is by the catalogue: a failure of ours is what it says, a limit of the system that was reached has a code of its own, and
 * all else is a defect, `E_RUN_FAILED`.
 */
export function failureOf(thrown: unknown): Pick<LeadstreamError, 'code' | 'message' | 'help' | 'exit'> {
  const failure = limitReached(thrown) ?? thrown;
  if (failure instanceof LeadstreamError) return failure;
  const code = 'E_RUN_FAILED';
  const { help, exit } = catalogue[code];
  return { code, message: failure instanceof Error ? `${failure.name}: ${failure.message}` : 'something unknown was thrown', help, exit };
}
