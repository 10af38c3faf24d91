import { defined, newRunId, SinkError } from '../core/index.js';
import { getIn, parsedBy } from '../options/index.js';
import { lockOutputs, refuseInTable, Stores, undoing, type RunLock } from '../store/index.js';
import { outputPlaceOf } from './options.js';
import { unfitAt } from './projection.js';
import type { SinkContext, SinkDefinition, SinkWriter } from './sink.js';

/** Creates the context of a sink used on its own. A rejected row has no place and fails the write, unless `reject` collects it. */
export function standaloneSink(at: string, overrides: Partial<SinkContext> = {}): SinkContext {
  const started = new Date().toISOString();
  return {
    at,
    baseDir: process.cwd(),
    onError: 'reject',
    stdout: process.stdout,
    pipeline: at,
    runId: newRunId(),
    stores: new Stores({}, overrides.signal),
    key: [],
    firstStart: () => started,
    runDate: () => started.slice(0, 10),
    reject: (row, { page, index, ...fault }) => {
      if (page === undefined || index === undefined) throw new SinkError('E_SINK_VALUE', `${at}: field ${fault.field} ${fault.reason}`);
      throw unfitAt({ at, page, index, row }, fault);
    },
    nulled: () => undefined,
    ...defined(overrides),
  };
}

/**
 * Opens a sink for a program. Its output stays locked until `abort` or `cleanup`, since two writers would remove each other's files.
 * @throws {SinkError} `E_SINK_CONFIG` with all problems of the options.
 * @throws {LeadstreamError} `E_RUN_LOCKED` while another sink of this program, or another process, writes there.
 */
export async function openInCode<C>(
  sink: SinkDefinition<string, C>,
  options: unknown,
  overrides: Partial<SinkContext>,
): Promise<SinkWriter> {
  const at = sink.name;
  if (getIn(options, ['where']) !== undefined)
    throw new SinkError('E_SINK_CONFIG', `${at}: where is for pipeline files; a program writes what filter keeps`);
  const config = parsedBy(sink.config(), options, (problems) => new SinkError('E_SINK_CONFIG', `${at}: ${problems}`));
  const context = standaloneSink(at, overrides);
  const output = sink.output(config, outputPlaceOf(context));
  if (output === undefined) return sink.open(config, context);
  refuseInTable(output);
  const { runId, stores } = context;
  const lock = await lockOutputs([output], { runId, stores });
  return releasing(await sink.open(config, context).catch(undoing(() => lock.release())), lock);
}

function releasing(writer: SinkWriter, lock: RunLock): SinkWriter {
  async function last<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } finally {
      await lock.release();
    }
  }

  return {
    ...defined({ earlier: writer.earlier }),
    begin: (columns) => writer.begin(columns),
    write: (page) => writer.write(page),
    prepare: async () => {
      const prepared = await writer.prepare();
      return {
        ...prepared,
        actions: async (facts) => {
          await lock.check();
          return prepared.actions(facts);
        },
        cleanup: () => last(prepared.cleanup()),
      };
    },
    abort: () => last(writer.abort()),
  };
}
