import { LeadstreamError } from './errors.js';
import { reasonOf } from './thrown.js';

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
  // Node finds modules by opening files, and reports one that it may not open as missing.
  const limit = code === 'ERR_MODULE_NOT_FOUND' ? maxOpenFiles() : undefined;
  if (limit === undefined || limit >= manyFiles) return undefined;
  const why = `at most ${limit} files may be open, which is too few to load it`;
  return new LeadstreamError('E_RUN_FILES', `${message}; ${why}`, { cause: thrown });
}

const tooManyFiles: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE']);
const noMemory: ReadonlySet<string> = new Set(['ENOMEM', 'ERR_WORKER_OUT_OF_MEMORY', 'ERR_MEMORY_ALLOCATION_FAILED']);

/** V8's messages when it gets no memory; such errors have no code. */
const ranOut = /^(?:WebAssembly\.[^]*(?:out of memory|could not allocate)|Array buffer allocation failed)/i;

/** From this limit on, loading fails for other reasons. */
const manyFiles = 512;

/** Returns the limit of open files; `undefined` if there is none or the system does not report it. */
function maxOpenFiles(): number | undefined {
  const report: { readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } } } = process.report.getReport();
  const soft = report.userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : undefined;
}
