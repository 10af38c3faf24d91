import { defined, newRunId, SinkError } from '../core/index.js';
import { failureAt, type Fault, type RowPlace } from '../flow/index.js';
import type { SinkContext } from './sink.js';

/**
 * The context of a sink that is used on its own, in code. There is nowhere to put a rejected row, so one fails the
 * write instead of vanishing; pass `reject` to collect them. Relative paths resolve against the working directory.
 */
export function standaloneSink(at: string, overrides: Partial<SinkContext> = {}): SinkContext {
  return {
    at,
    baseDir: process.cwd(),
    onError: 'reject',
    stdout: process.stdout,
    pipeline: at,
    runId: newRunId(),
    key: [],
    runDate: () => new Date().toISOString().slice(0, 10),
    reject: (row, { page, index, ...fault }) => {
      if (page === undefined || index === undefined) throw new SinkError('E_SINK_VALUE', `${at}: field ${fault.field} ${fault.reason}`);
      throw unfitAt({ at, page, index, row }, fault);
    },
    nulled: () => undefined,
    ...defined(overrides),
  };
}

/** What a sink fails with at a value that does not fit. */
export function unfitAt(place: RowPlace, { field, reason }: Fault): SinkError {
  return failureAt(place, (row) => new SinkError('E_SINK_VALUE', `${place.at}: field ${field} ${reason} in ${row}`));
}
