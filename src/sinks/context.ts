import { defined, newRunId, SinkError } from '../core/index.js';
import { failureAt, type Fault, type RowPlace } from '../flow/index.js';
import type { SinkContext } from './sink.js';

/**
 * Creates the context of a sink used on its own, in code. There is nowhere to put a rejected row, so it fails the write instead of being lost; pass `reject` to
 * collect such rows. Relative paths resolve against the working directory.
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

/** Creates the failure for a value that does not fit. */
export function unfitAt(place: RowPlace, { field, reason }: Fault): SinkError {
  return failureAt(place, (row) => new SinkError('E_SINK_VALUE', `${place.at}: field ${field} ${reason} in ${row}`));
}
