import { LeadstreamError } from '../core/index.js';
import type { SinkWriter } from './sink.js';

/**
 * Holds a writer to the order `begin`, `write`…, `finish`. After a failed call every further one but `abort` fails with the
 * same error, so that an output with a hole is never finished. `abort` works once and at any time.
 */
export function inPhases(at: string, writer: SinkWriter): SinkWriter {
  let next: 'begin' | 'write' | 'nothing' = 'begin';
  let failure: unknown;

  async function step<T>(allowed: typeof next, then: typeof next, work: () => Promise<T>): Promise<T> {
    if (failure !== undefined) throw failure;
    try {
      if (next !== allowed)
        throw new LeadstreamError('E_RUN_FAILED', `${at}: called out of order, which is begin, write for each page, and finish or abort`);
      next = 'nothing';
      const result = await work();
      next = then;
      return result;
    } catch (thrown) {
      failure = thrown;
      throw thrown;
    }
  }

  return {
    begin: (columns) => step('begin', 'write', () => writer.begin(columns)),
    write: (page) => step('write', 'write', () => writer.write(page)),
    finish: () => step('write', 'nothing', () => writer.finish()),
    abort: async () => {
      failure ??= new LeadstreamError('E_RUN_ABORTED', `${at}: was aborted`);
      await writer.abort();
    },
  };
}
