import { isDeepStrictEqual } from 'node:util';
import { catchError, map, of, pipe, switchMap, throwError, type Observable } from 'rxjs';
import type { Collection } from '../collections/index.js';
import { amountOf, isAddressable, itemAt, LeadstreamError, reasonOf, type Row } from '../core/index.js';
import type { Watchers } from '../events/index.js';
import { batchOf, pageOf, withBatch, type Page, type Step, type Tally } from '../flow/index.js';
import { bounds, checkUsage, number, object } from '../options/index.js';
import { keeping, limit, type StepRuntime } from '../steps/index.js';
import { isViolation } from '../source/index.js';
import { batchFromRows, FlatVector } from '../vector/index.js';
import type { Pipeline, PlannedStep } from '../plan/index.js';
import { extraStep, runObserved, type ObservedRun, type Stage, type Observing, type RowField } from './observed.js';
import { onErrorOf } from './outputs.js';

interface ExplainRowOptions {
  /** Whether to show personal values and credentials instead of `***`. Default `false`. */
  readonly reveal?: boolean;
  /** Rows of the list to read at most, for a record without a single read and for a `dedupe`. Default 10,000. */
  readonly scan?: number;
  readonly signal?: AbortSignal;
  readonly watch?: Watchers;
}

export interface RowPassage {
  readonly at: string;
  /** `dropped`: by the step's rule; `failed`: a run fails here; `not reached`: an earlier step removed the row, or depends on all rows. */
  readonly outcome: 'passed' | 'dropped' | 'rejected' | 'failed' | 'depends on all rows' | 'not reached';
  /** Why it is rejected or fails, or what a `dedupe` leaves unknown, in words. */
  readonly reason?: string | undefined;
  readonly counts: Readonly<Partial<Tally>>;
  /** A join can turn one row into several. */
  readonly rows: readonly (readonly RowField[])[];
  /** The row that a `dedupe` keeps instead. */
  readonly preferred?: readonly RowField[] | undefined;
}

/** The path of a record through the steps of a pipeline; plain data, except for a failure. */
export type RowExplanation = Awaited<ReturnType<typeof traceRow>>;

/**
 * Explains what each step does to a record, and writes nothing. The record comes from a single read if the service has one, otherwise from
 * the list, which is also read for a `dedupe` by anything but the collection's key.
 * @param key Values of the key of the collection, in the order of its columns.
 * @throws {LeadstreamError} `E_USAGE` for an invalid key, `E_ROW_NOT_FOUND`.
 */
export async function traceRow(pipeline: Pipeline, key: readonly string[], options: ExplainRowOptions = {}) {
  const { reveal = false, scan = 10_000, signal, watch } = options;
  checkUsage('explain-row', object({ scan: number({ whole: true, min: 1 }) }), { scan });
  const { plan, connection } = pipeline;
  const { name, key: columns } = plan.collection;
  if (key.length !== columns.length || key.includes('')) {
    const values = columns.length === 1 ? 'one value' : `${columns.length} values, in this order`;
    throw new LeadstreamError('E_USAGE', `the key of ${name} is ${columns.join(' and ')}: give ${values}; none may be empty`);
  }
  const limited = { ...pipeline, connection: { ...connection, limit: connection.limit ?? bounds.limit.max, endWaitMs: 0 } };
  const now = new Date();
  const observe: Observe = (some, begin) => runObserved(limited, { rows: Infinity, steps: some, begin, now, signal, watch });
  const ofAll = plan.steps.findIndex(dependsOnAll);
  const own = ofAll < 0 ? plan.steps : plan.steps.slice(0, ofAll);
  let { stages, failure, failedAt } = await observe(own, (runtime) => finding(runtime, plan.collection, key, scan, pipeline.reveal));
  const [first] = itemAt(stages, 0).rows;
  if (!first) {
    const where = `among the first ${amountOf(scan, 'row')} of the list`;
    throw new LeadstreamError('E_ROW_NOT_FOUND', `${name}: there is no record with that ${columns.join(' + ')} ${where}`);
  }
  const record = itemAt(itemAt(stages, 0).shown([first], reveal), 0);
  const steps: RowPassage[] = [];
  let isLeft = true;
  for (const [index, step] of own.entries()) {
    const at = stages.length - own.length + index;
    const [before, after] = [itemAt(stages, at - 1), itemAt(stages, at)];
    const isDedupe = isLeft && step.definition.name === 'dedupe' && after.passed > 0;
    const rival = isDedupe ? await rivalOf(after.rows, first, plan.steps.slice(0, index + 1), pipeline, observe, scan) : {};
    const passage = passageOf(before, after, { ...rival, failure: failedAt === step.at ? failure : undefined, reveal });
    steps.push(isLeft ? passage : { at: step.at, outcome: 'not reached', counts: {}, rows: [] });
    isLeft &&= passage.rows.length > 0;
    const { kept = [] } = rival;
    if (kept.length > 0) ({ stages, failure, failedAt } = await observe(own.slice(index), (runtime) => () => given(kept, runtime)));
  }
  for (const { at } of plan.steps.slice(own.length)) {
    steps.push({ at, outcome: isLeft ? 'depends on all rows' : 'not reached', counts: {}, rows: [] });
    isLeft = false;
  }
  const sinks: RowPassage[] = [];
  const arrived = isLeft ? itemAt(stages, stages.length - 1).rows : [];
  for (const { at, where, config } of arrived.length > 0 ? plan.sinks : []) {
    if (where === undefined) continue;
    const keep = { ...extraStep(at, (runtime) => map(keeping(where, runtime))), input: plan.columns() };
    const onError = onErrorOf(config, pipeline.onError);
    const begin: Observing['begin'] = (runtime) => () => given(arrived, runtime);
    const alone = { ...limited, onError, plan: { ...plan, steps: [keep] } };
    const kept = await runObserved(alone, { steps: [keep], rows: Infinity, begin, now, signal, watch });
    sinks.push(passageOf(itemAt(kept.stages, 0), itemAt(kept.stages, 1), { failure: kept.failure, reveal }));
  }
  return {
    pipeline: pipeline.name,
    collection: name,
    record,
    steps,
    /** What the sinks with a `where` do with the rows that leave the last step; empty if none is known to leave it. */
    sinks,
    /** The error of a run with this record. */
    failure: steps.some(({ preferred, outcome }) => preferred && outcome === 'dropped') ? undefined : failure,
  };
}

/** Returns whether one row does not determine what leaves a step. A sort passes the row, and leaves its place open. */
function dependsOnAll({ definition: { name, blocking = false, most } }: PlannedStep): boolean {
  return most !== undefined || (blocking && name !== 'sort');
}

type Observe = (steps: readonly PlannedStep[], begin: Observing['begin']) => Promise<ObservedRun>;

function finding(runtime: StepRuntime, collection: Collection, key: readonly string[], scan: number, reveal: readonly string[]): Step {
  const { lookup } = runtime;
  const isWanted = (row: Row) => collection.key.every((column, index) => row[column] === key[index]);
  const id = key[collection.key.indexOf(collection.id)];
  const isSingle = !collection.served && id !== undefined && isAddressable(id);
  // A service may refuse to return single records.
  const noRecord = (failure: unknown): Observable<readonly Row[]> => (isViolation(failure) ? of([]) : throwError(() => failure));
  const single$ = isSingle && lookup ? lookup(collection, reveal).find(id).pipe(catchError(noRecord)) : of([]);
  const wanted = map((page: Page) => {
    const batch = batchOf(page);
    const found = batch.filter((row) => isWanted(batch.row(row)));
    return withBatch(page, found);
  });
  return (pages$) =>
    single$.pipe(
      map((rows) => rows.find(isWanted)),
      switchMap((row) => (row ? given([row], runtime) : pages$.pipe(limit(scan, runtime), wanted, limit(1, runtime)))),
    );
}

function given(rows: readonly Row[], { stop }: StepRuntime): Observable<Page> {
  stop?.();
  return of(pageOf(1, batchFromRows(rows), { release: () => {} }));
}

/** If a `dedupe` drops the record's rows for others: the rows that stay, and one of the others; or why that is unknown, in words. */
interface Rival {
  readonly kept?: readonly Row[];
  readonly row?: Row | undefined;
  readonly unknown?: string;
}

/** A column that marks the record's rows, which may become equal to others. */
const mark = 'rows of the record';

/** Passes the list's first rows through steps, the last a `dedupe`. @param ours The rows that leave it without others. */
async function rivalOf(
  ours: readonly Row[],
  record: Row,
  steps: readonly PlannedStep[],
  pipeline: Pipeline,
  observe: Observe,
  scan: number,
): Promise<Rival> {
  const { collection } = pipeline.plan;
  const passing = async (rows: readonly Row[]) => {
    const { stages } = await observe(steps.slice(-1), (runtime) => () => given(rows, runtime));
    return itemAt(stages, 1).rows;
  };
  const { input = [] } = steps.at(-1) ?? {};
  const others = collection.key.map((name) => ({ ...ours[0], [input.find(({ source }) => source === name)?.name ?? mark]: 'another' }));
  // The dedupe distinguishes records by each column of their key.
  if ((await passing([...ours.slice(0, 1), ...others])).length > others.length) return {};
  const marked = map((page: Page) => {
    const batch = batchOf(page);
    const marks = batch.rows().map((row) => (collection.key.every((name) => row[name] === record[name]) ? 'yes' : ''));
    return withBatch(page, batch.with([[mark, new FlatVector(marks)]]));
  });
  const first: Observing['begin'] = (runtime) => pipe(limit(scan, runtime), marked);
  const marking = steps.map((step) => (step.definition.name === 'select' ? { ...step, config: [step.config, mark].flat() } : step));
  const { stages, failure } = await observe(marking, first);
  if (failure !== undefined) throw failure;
  const [arrived, left] = [itemAt(stages, steps.length - 1).rows, itemAt(stages, steps.length).rows];
  // A mask may alter the mark, but not an empty text; a program's steps may drop it.
  const isOurs = (row: Row) => (mark in row ? row[mark] !== '' : ours.some((our) => isSame(our, row)));
  if (!arrived.some(isOurs))
    return { unknown: `it is not among the first ${amountOf(scan, 'row')} of the list, so earlier rows with its key are unknown` };
  const kept = ours.filter((our) => left.some((row) => isOurs(row) && isSame(our, row)));
  const lost = ours.find((our) => !kept.includes(our));
  if (lost === undefined) return {};
  // If it comes first, the kept row is dropped.
  const [, ...rest] = await passing([lost, ...left]);
  return { kept, row: left.find((row, index) => !isSame(row, rest[index])) };
}

function passageOf(
  before: Stage,
  after: Stage,
  { kept = after.rows, row: rival, unknown, failure, reveal }: Rival & { readonly failure: unknown; readonly reveal: boolean },
): RowPassage {
  const { at, fault, tally } = after;
  const duplicates = tally.duplicates + after.rows.length - kept.length;
  const counts = Object.entries({ ...tally, duplicates }).filter(([, count]) => count > 0);
  const shared = { at, counts: Object.fromEntries(counts) };
  if (failure !== undefined) return { ...shared, outcome: 'failed', reason: reasonOf(failure), rows: [] };
  const rows = after.shown(kept, reveal);
  const outcome = rows.length > 0 ? 'passed' : fault ? 'rejected' : 'dropped';
  const reason = fault ? `field ${fault.field} ${fault.reason}` : unknown;
  const [preferred] = rival ? before.shown([rival], reveal) : [];
  return { ...shared, outcome, reason, rows, preferred };
}

function isSame(a: Row, b: Row = {}): boolean {
  return Object.keys(a).every((name) => isDeepStrictEqual(a[name] ?? null, b[name] ?? null));
}
