import { SinkError, type Column } from '../core/index.js';
import type { Page } from '../flow/index.js';
import type { Published, RunFacts } from '../lake/index.js';
import type { PreparedOutput, SinkWriter } from './sink.js';

/** Where sinks of this program are open. */
const taken = new Set<string>();

/**
 * Opens a sink that a program uses by itself, where no other one of the program is open: they would remove each other's files. The place is
 * free again after `abort`, and when what was prepared is cleaned up or put aside.
 *
 * @param output Absolute path.
 * @throws {SinkError} `E_SINK_CONFIG` while another one is open there.
 */
export async function openAlone(at: string, output: string, open: () => Promise<SinkWriter>): Promise<SinkWriter> {
  if (taken.has(output)) {
    const message = `${at}: another sink of this program is open at ${output}; write one stream to its end before the next, or choose another path`;
    throw new SinkError('E_SINK_CONFIG', message);
  }
  taken.add(output);
  const free = () => taken.delete(output);
  try {
    return new LoneWriter(await open(), free);
  } catch (failure) {
    free();
    throw failure;
  }
}

class LoneWriter implements SinkWriter {
  constructor(
    private readonly writer: SinkWriter,
    private readonly free: () => void,
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
    return freeing(await this.writer.prepare(), this.free);
  }

  async abort(): Promise<void> {
    await this.writer.abort().finally(this.free);
  }
}

function freeing(prepared: PreparedOutput, free: () => void): PreparedOutput {
  const { rows, bytes, total, unchanged, changed, path } = prepared;
  return {
    ...{ rows, bytes, total, unchanged, changed, ...(path === undefined ? {} : { path }) },
    actions: (facts: RunFacts) => prepared.actions(facts),
    cleanup: () => prepared.cleanup().finally(free),
    quarantine: () => prepared.quarantine().finally(free),
  };
}
