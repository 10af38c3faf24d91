import { defined, newRunId, SinkError, type Column } from '../core/index.js';
import type { Page } from '../flow/index.js';
import type { Published, RunFacts } from '../lake/index.js';
import { optionProblems } from '../options/index.js';
import { lockOutputs, type Lock } from '../store/index.js';
import { placeOf } from './options.js';
import { unfitAt } from './projection.js';
import type { PreparedOutput, SinkContext, SinkDefinition, SinkWriter } from './sink.js';

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

/** The outputs of open sinks in this program. */
const taken = new Set<string>();

/**
 * Opens a sink that a program uses on its own. Refuses an output that another sink of the program or another process is writing, since they would remove each
 * other's files. The output is free again after `abort`, `cleanup` or `quarantine`.
 *
 * @throws {SinkError} `E_SINK_CONFIG` with every problem of the options, and while another sink is open at the same output.
 * @throws {LeadstreamError} `E_RUN_LOCKED` while another process writes there.
 */
export async function openInCode<C>(
  sink: SinkDefinition<string, C>,
  options: unknown,
  overrides: Partial<SinkContext>,
): Promise<SinkWriter> {
  const at = sink.name;
  const { data: config, success } = sink.config().safeParse(options);
  if (!success) throw new SinkError('E_SINK_CONFIG', `${at}: ${optionProblems(sink.config(), options).join('; ')}`);
  const context = standaloneSink(at, overrides);
  const output = sink.output(config, placeOf(context));
  if (output === undefined) return sink.open(config, context);
  if (taken.has(output)) {
    const message = `${at}: another sink of this program is open at ${output}; finish one stream before the next, or choose another path`;
    throw new SinkError('E_SINK_CONFIG', message);
  }
  taken.add(output);
  let lock: Lock | undefined;
  const free = async (): Promise<void> => {
    await lock?.release();
    taken.delete(output);
  };
  try {
    lock = await lockOutputs([output], { runId: context.runId });
    return new LoneWriter(await sink.open(config, context), { check: lock.check, release: free });
  } catch (failure) {
    await free();
    throw failure;
  }
}

class LoneWriter implements SinkWriter {
  constructor(
    private readonly writer: SinkWriter,
    private readonly place: Lock,
  ) {}

  get earlier(): Published | undefined {
    return this.writer.earlier;
  }

  begin(columns: readonly Column[]): Promise<void> {
    return this.writer.begin(columns);
  }

  write(page: Page): Promise<void> {
    return this.writer.write(page);
  }

  async prepare(): Promise<PreparedOutput> {
    return freeing(await this.writer.prepare(), this.place);
  }

  async abort(): Promise<void> {
    try {
      await this.writer.abort();
    } finally {
      await this.place.release();
    }
  }
}

function freeing(prepared: PreparedOutput, place: Lock): PreparedOutput {
  const { rows, bytes, total, unchanged, changed, path } = prepared;
  return {
    ...{ rows, bytes, total, unchanged, changed, ...(path === undefined ? {} : { path }) },
    actions: async (facts: RunFacts) => {
      await place.check();
      return prepared.actions(facts);
    },
    cleanup: async () => {
      try {
        await prepared.cleanup();
      } finally {
        await place.release();
      }
    },
    quarantine: async () => {
      try {
        return await prepared.quarantine();
      } finally {
        await place.release();
      }
    },
  };
}
