import { batchOf } from '../../flow/index.js';
import type { SinkWriter } from '../../sinks/index.js';
import type { PlannedSink } from '../spec/planned.js';

/** A sink that discards the rows. */
export const nullSink: PlannedSink = {
  name: 'preview',
  version: undefined,
  index: 0,
  at: 'preview',
  prints: true,
  output: undefined,
  outputOf: () => undefined,
  adds: false,
  holds: undefined,
  folders: [],
  check: () => {},
  writes: () => [],
  open: opened,
  rehearse: opened,
};

function opened(): Promise<SinkWriter> {
  let rows = 0;
  return Promise.resolve({
    begin: () => Promise.resolve(),
    write: (page) => {
      rows += batchOf(page).length;
      return Promise.resolve();
    },
    prepare: () =>
      Promise.resolve({
        rows,
        bytes: 0,
        total: rows,
        unchanged: 0,
        changed: 0,
        actions: () => Promise.resolve([]),
        cleanup: () => Promise.resolve(),
        quarantine: () => Promise.resolve(undefined),
      }),
    abort: () => Promise.resolve(),
  });
}
