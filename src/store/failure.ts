import { type ErrorCode, type GeneralCode, LeadstreamError, limitReached, SinkError } from '../core/index.js';

/** The code of a system error (`ENOSPC`, `ENOTDIR`, …); `undefined` for anything else. */
export function errnoOf(thrown: unknown): string | undefined {
  return typeof thrown === 'object' && thrown !== null && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;
}

/** Gives something else for what is not there; for `catch`. */
export function unlessMissing<T>(instead: T): (thrown: unknown) => T {
  return (thrown) => {
    if (errnoOf(thrown) === 'ENOENT') return instead;
    throw thrown;
  };
}

/**
 * Does something to the disk and gives failures the form that users see. Failures of our own pass as they are.
 *
 * @param code `E_SINK_PATH` while an output is being opened, `E_SINK_WRITE` from then on.
 * @param what What was being done, with the path, for example `cannot write /lake/leads.csv`.
 * @throws {SinkError} `code`, with the system's reason behind `what`: `…: ENOSPC: no space left on device`.
 * @throws {LeadstreamError} `E_RUN_FILES` or `E_RUN_MEMORY` when a limit of the process was reached.
 */
export async function attempt<T>(code: 'E_SINK_PATH' | 'E_SINK_WRITE', what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof LeadstreamError) throw thrown;
    const message = `${what}: ${systemReason(thrown)}`;
    throw limitReached(thrown, message) ?? new SinkError(code, message, { cause: thrown });
  }
}

/** The system's words, up to the comma that the call and the path follow. */
function systemReason(thrown: unknown): string {
  const text = typeof thrown === 'object' && thrown !== null && 'message' in thrown ? String(thrown.message) : String(thrown);
  const code = errnoOf(thrown);
  return code !== undefined && text.startsWith(`${code}:`) ? (text.split(',', 1)[0] ?? text) : [code, text].filter(Boolean).join(': ');
}

/** The same failure in other words; one that is none of ours, nor of a limit, is of a write. */
export function reworded(failure: unknown, message: string): LeadstreamError {
  const options = { cause: failure };
  if (failure instanceof SinkError) return new SinkError(failure.code, message, options);
  if (failure instanceof LeadstreamError && isGeneral(failure.code)) return new LeadstreamError(failure.code, message, options);
  return new SinkError('E_SINK_WRITE', message, options);
}

function isGeneral(code: ErrorCode): code is GeneralCode {
  return !/^E_(?:SPEC|SOURCE|STEP|SINK|GATE)_/.test(code);
}
