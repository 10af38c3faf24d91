/** Writes to tables without their lock, in a process of its own: an `Order` -> how that ended. */
import { setTimeout as wait } from 'node:timers/promises';
import { LeadstreamError, type Row } from '../../src/core/index.js';
import type { RunFacts } from '../../src/lake/index.js';
import { standaloneSink } from '../../src/sinks/alone.js';
import { parquetSink } from '../../src/sinks/parquet.js';

export interface Order {
  readonly options: object;
  readonly run: string;
  readonly rows: readonly Row[];
  readonly folder: string;
  readonly afterMs: number;
}

/** `earlier` is the run that it found. */
export interface Ending {
  readonly earlier: string | undefined;
  readonly code: string | undefined;
}

const plain = { cast: false, sensitivity: 'plain' } as const;
const columns = [
  { name: 'id', source: 'id', original: 'id', type: 'text', ...plain },
  { name: 'day', original: 'day', type: 'date', ...plain },
] as const;
const facts: RunFacts = { pipeline: 'w', fingerprint: '', collection: 'w', pages: 1, consistency: 'off', startedAt: '', books: {} };

async function obey({ options, run, rows, folder, afterMs }: Order): Promise<Ending> {
  await wait(afterMs);
  const context = standaloneSink('parquet', { baseDir: folder, runId: run, key: ['id'], scratch: `${folder}/${run}` });
  const writer = await parquetSink.open(parquetSink.config().parse(options), context);
  const earlier = writer.earlier?.runId;
  try {
    await writer.begin(columns);
    await writer.write({ number: 1, rows, lease: { release: () => undefined } });
    const prepared = await writer.prepare();
    await prepared.actions(facts);
    await prepared.commit?.(false);
    await prepared.cleanup();
    return { earlier, code: undefined };
  } catch (failure) {
    await writer.abort();
    return { earlier, code: failure instanceof LeadstreamError ? failure.code : String(failure) };
  }
}

process.on(
  'message',
  (order: Order) =>
    void obey(order).then(
      (ending) => process.send?.(ending),
      (failure: unknown) => process.send?.({ code: String(failure) }),
    ),
);
