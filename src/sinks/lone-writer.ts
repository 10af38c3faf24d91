import { SinkError, type Column } from '../core/index.js';
import type { Page } from '../flow/index.js';
import type { Published, RunFacts } from '../lake/index.js';
import { lockOutputs, type Lock } from '../store/index.js';
import type { PreparedOutput, SinkContext, SinkWriter } from './sink.js';

/** The outputs of open sinks in this program. */
const taken = new Set<string>();

/**
 * Opens a sink that a program uses on its own. Refuses an output that another sink of the program or another process is writing, since they would remove each
 * other's files. The output is free again after `abort`, `cleanup` or `quarantine`.
 *
 * @param output Absolute path.
 * @throws {SinkError} `E_SINK_CONFIG` while another sink is open there.
 * @throws {LeadstreamError} `E_RUN_LOCKED` while another process writes there.
 */
export async function openAlone(
  { at, runId }: Pick<SinkContext, 'at' | 'runId'>,
  output: string,
  open: () => Promise<SinkWriter>,
): Promise<SinkWriter> {
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
    lock = await lockOutputs([output], { runId });
    return new LoneWriter(await open(), { check: lock.check, release: free });
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
