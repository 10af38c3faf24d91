import { SinkError } from '../../core/index.js';
import { attempt } from '../../store/index.js';

/**
 * Does something in the state folder; failures say which option moves it.
 *
 * @throws {SinkError} `code`: `E_SINK_PATH` while a spool is being opened, `E_SINK_WRITE` from then on.
 */
export async function inState<T>(code: 'E_SINK_PATH' | 'E_SINK_WRITE', what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await attempt(code, what, work);
  } catch (failure) {
    if (!(failure instanceof SinkError)) throw failure;
    throw new SinkError(failure.code, `${failure.message}; --state-dir chooses another place`, { cause: failure });
  }
}
