import { type ErrorCode, type GeneralCode, LeadstreamError, limitReached, SinkError } from '../core/index.js';

/** Returns the code of a system error (`ENOSPC`, `ENOTDIR`, …), otherwise `undefined`. */
export function errnoOf(thrown: unknown): string | undefined {
  return typeof thrown === 'object' && thrown !== null && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;
}

/** Returns a handler for `catch` that returns something instead of these system errors. */
export function unless<T>(instead: T, ...codes: readonly string[]): (thrown: unknown) => T {
  return (thrown) => {
    if (codes.includes(errnoOf(thrown) ?? '')) return instead;
    throw thrown;
  };
}

export function unlessMissing<T>(instead: T): (thrown: unknown) => T {
  return unless(instead, 'ENOENT');
}

/** Returns a handler for `catch` that undoes what preceded a failure. */
export function undoing(undo: () => Promise<unknown>): (failure: unknown) => Promise<never> {
  return async (failure) => {
    await undo();
    throw failure;
  };
}

/**
 * Performs a disk operation and converts its failures to ours; our own are rethrown unchanged.
 * @param code `E_SINK_PATH` while an output is being opened, `E_SINK_WRITE` after that.
 * @throws {SinkError} `code`, with `what` and the system's reason: `…: ENOSPC: no space left on device`.
 * @throws {LeadstreamError} `E_RUN_FILES` or `E_RUN_MEMORY` if a limit of the process was reached.
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

/** Returns the system's message up to the comma that precedes the call and the path. */
function systemReason(thrown: unknown): string {
  const text = typeof thrown === 'object' && thrown !== null && 'message' in thrown ? String(thrown.message) : String(thrown);
  const code = errnoOf(thrown);
  return code !== undefined && text.startsWith(`${code}:`) ? (text.split(',', 1)[0] ?? text) : [code, text].filter(Boolean).join(': ');
}

/** Creates the same failure with another message. What is neither ours nor a reached limit becomes a write failure. */
export function reworded(failure: unknown, message: string): LeadstreamError {
  const options = { cause: (failure instanceof LeadstreamError && failure.cause) || failure };
  if (failure instanceof SinkError) return new SinkError(failure.code, message, options);
  if (failure instanceof LeadstreamError && isGeneral(failure.code)) return new LeadstreamError(failure.code, message, options);
  return new SinkError('E_SINK_WRITE', message, options);
}

function isGeneral(code: ErrorCode): code is GeneralCode {
  return !/^E_(?:SPEC|SOURCE|STEP|SINK|GATE)_/.test(code);
}

export function isLocked(failure: unknown): boolean {
  return failure instanceof LeadstreamError && failure.code === 'E_RUN_LOCKED';
}

/** A handler for `catch` that returns `undefined` for what another run holds, or wrote first. */
export function unlessLocked(thrown: unknown): undefined {
  if (!isLocked(thrown)) throw thrown;
}
