import { LeadstreamError } from './errors.js';
import { reasonOf } from './thrown.js';

/**
 * The failure that something thrown is when a limit of the system was reached, of open files or of memory, wherever that was;
 * `undefined` for anything else. Failures of ours are what they say.
 *
 * @param message Default: that of what was thrown.
 */
export function limitReached(thrown: unknown, message = reasonOf(thrown)): LeadstreamError | undefined {
  if (thrown instanceof LeadstreamError || typeof thrown !== 'object' || thrown === null) return undefined;
  const said = reasonOf(thrown);
  const code = 'code' in thrown ? String(thrown.code) : '';
  // A thread that could not start has the reason in its message alone.
  const reason = code === 'ERR_WORKER_INIT_FAILED' ? (/\bE[A-Z]+$/.exec(said)?.[0] ?? '') : code;
  if (tooManyFiles.has(reason)) return new LeadstreamError('E_RUN_FILES', message, { cause: thrown });
  if (noMemory.has(reason) || ranOut.test(said)) return new LeadstreamError('E_RUN_MEMORY', message, { cause: thrown });
  // Node looks for a module by opening files, and takes one that it may not open for one that is not there.
  const limit = code === 'ERR_MODULE_NOT_FOUND' ? maxOpenFiles() : undefined;
  if (limit === undefined || limit >= manyFiles) return undefined;
  const why = `no more than ${limit} files may be open, which is too few to load it`;
  return new LeadstreamError('E_RUN_FILES', `${message}; ${why}`, { cause: thrown });
}

const tooManyFiles: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE']);
const noMemory: ReadonlySet<string> = new Set(['ENOMEM', 'ERR_WORKER_OUT_OF_MEMORY', 'ERR_MEMORY_ALLOCATION_FAILED']);

/** What V8 says when it gets no memory; such errors have no code. */
const ranOut = /^(?:WebAssembly\.[^]*(?:out of memory|could not allocate)|Array buffer allocation failed)/i;

/** With so many, loading fails for other reasons. */
const manyFiles = 512;

/** The limit of open files; `undefined` where there is none, or the system does not tell. */
function maxOpenFiles(): number | undefined {
  const report: { readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } } } = process.report.getReport();
  const soft = report.userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : undefined;
}
