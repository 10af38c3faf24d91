import { SinkError } from '../../core/index.js';
import { attempt } from '../../store/index.js';

/**
 * Runs an operation in the state folder; failures mention the option that moves it.
 *
 * @throws {SinkError} `code`: `E_SINK_PATH` while a spool is being opened, `E_SINK_WRITE` afterwards.
 */
export async function inState<T>(code: 'E_SINK_PATH' | 'E_SINK_WRITE', what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await attempt(code, what, work);
  } catch (failure) {
    if (!(failure instanceof SinkError)) throw failure;
    throw new SinkError(failure.code, `${failure.message}; choose another place with --state-dir`, { cause: failure });
  }
}
