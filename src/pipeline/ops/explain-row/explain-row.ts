import { deliveredColumns } from '../../../collections/index.js';
import { itemAt, LeadstreamError, stoppedBy, withKeyOrigin, type Row } from '../../../core/index.js';
import { watchersProblem, type Watchers } from '../../../events/index.js';
import { abortSignal, bounds, checkUsage, filledText, flag, judged, number, object, texts } from '../../../options/index.js';
import { connect, type ConnectOptions } from '../../../source/index.js';
import { checkPipeline } from '../../run/check-run.js';
import { StateFolder } from '../../run/state-folder.js';
import { keyOriginOf, type Pipeline } from '../../spec/pipeline.js';
import type { RowExplanation, RowPassage } from './explanation.js';
import { columnsWith, FieldView } from './fields.js';
import { findRecord } from './find-record.js';
import { gatesOf } from './gates.js';
import { rehearsed } from './output.js';
import { Passages } from './passage.js';

/** How a record is explained. */
export interface ExplainRowOptions {
  /** Whether to show personal values and credentials instead of `***`. Default `false`. */
  readonly reveal?: boolean;
  /** Maximum number of rows of the list to search for the record. Default 10,000. */
  readonly scan?: number;
  /** State folder of runs, whose log contains information about tables; only read. Default `.leadstream` in the pipeline's base folder. */
  readonly stateDir?: string;
  /** Stops the explanation, with `E_RUN_ABORTED`. */
  readonly signal?: AbortSignal;
  /** Receives events in the meantime. */
  readonly watch?: Watchers | undefined;
}

const looking = object({
  reveal: flag,
  scan: number({ whole: true, min: 1 }),
  stateDir: filledText,
  signal: abortSignal,
  watch: judged(watchersProblem),
});
const taken = object({ key: texts(), options: looking }, ['key']);

/**
 * Passes one record through the steps of a pipeline and explains what each of them does to it. Nothing is written. The other sides of joins are read
 * completely, as in a run. The record itself is fetched by a single read if the service supports it, otherwise from the list.
 *
 * @param key Values of the key of the collection, in the order of its columns.
 * @throws {LeadstreamError} `E_USAGE` for an invalid key, `E_ROW_NOT_FOUND`, `E_RUN_ABORTED`.
 * @throws {SourceError} If the service cannot be read.
 *
 * @example
 * const { steps } = await explainRow(await loadPipeline('leads.yaml'), ['1000001']);
 * // [{ at: 'steps[0] derive', outcome: 'passed', changed: [{ name: 'zip_state', value: 'NY', … }], … }, …]
 */
export async function explainRow(pipeline: Pipeline, key: readonly string[], options: ExplainRowOptions = {}): Promise<RowExplanation> {
  checkPipeline('explainRow', pipeline);
  checkUsage('explainRow', taken, { key, options });
  const { reveal = false, scan = 10_000, signal, watch } = options;
  const { plan, connection, name } = pipeline;
  const state = StateFolder.at(options.stateDir, pipeline.baseDir);
  const { collection } = plan;
  refuseKey(pipeline, key);
  const own = Object.values(plan.collections).filter(({ served }) => served !== undefined);
  const service = connect({ ...readingOnce(connection), collections: own, watch });
  const stop = () => void service.close();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const { row, search } = await findRecord(service, { collection, key, reveal: pipeline.reveal, scan, signal });
    const view = new FieldView(reveal);
    const record = columnsWith(deliveredColumns(collection, pipeline.reveal), [row]);
    const firstStart = new Date();
    const passages = new Passages(pipeline, service, view, firstStart);
    const after = [...plan.steps.slice(1).map(({ input }) => input), plan.columns()];
    let rows: readonly Row[] = [row];
    const steps: RowPassage[] = [];
    for (const [index, step] of plan.steps.entries()) {
      const passed = await passages.through(step, rows, itemAt(after, index));
      steps.push(passed.passage);
      ({ rows } = passed);
    }
    const undeclared = record.filter((column) => column.undeclared);
    const { leaving, outputs } = await rehearsed(rows, undeclared, { pipeline, view, firstStart, state, signal });
    return {
      pipeline: name,
      collection: collection.name,
      search,
      record: view.fields(record, row),
      steps,
      rows: rows.length,
      outputs,
      gates: gatesOf(pipeline, { leaving, rows, steps, outputs }),
    };
  } catch (error) {
    if (signal?.aborted) throw stoppedBy(signal, `${name}: the explanation was stopped by its signal`);
    throw withKeyOrigin(error, keyOriginOf(pipeline));
  } finally {
    signal?.removeEventListener('abort', stop);
    await service.close();
  }
}

function refuseKey({ plan: { collection } }: Pipeline, key: readonly string[]): void {
  const columns = collection.key.join(' and ');
  if (key.length !== collection.key.length)
    throw new LeadstreamError(
      'E_USAGE',
      `the key of ${collection.name} is ${columns}: give ${collection.key.length === 1 ? 'one value' : `${collection.key.length} values, in this order`}`,
    );
  if (key.some((value) => value === ''))
    throw new LeadstreamError('E_USAGE', `the key of ${collection.name} is ${columns}, and none of its values may be empty`);
}

/** Returns options for a one-time read: few requests, no waiting at the end of lists, and warnings are not failures. */
function readingOnce(connection: ConnectOptions): ConnectOptions {
  return { ...connection, limit: connection.limit ?? bounds.limit.max, endWaitMs: 0, strict: false };
}
