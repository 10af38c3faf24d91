import { isObservable } from 'rxjs';
import { SinkError, unknownName, type Column } from '../core/index.js';
import { givenColumns, RowStream, unlessDry } from '../flow/index.js';
import { watchersProblem } from '../events/index.js';
import { abortSignal, faultsIn, kindOf, judged, object, text } from '../options/index.js';
import type { SinkWriter } from '../sinks/index.js';

const taken = object({ columns: givenColumns, name: text, signal: abortSignal, watch: judged(watchersProblem) });

/** Sinks that were already used: a second use would undo what the first one published. */
const used = new WeakSet<object>();

/**
 * Claims a sink for a single use.
 *
 * @throws {SinkError} `E_SINK_CONFIG` if it is not a sink, or was already used. If it could not be opened, that error.
 */
export async function claimSink(sink: unknown): Promise<SinkWriter> {
  const opened = await unlessDry(Promise.resolve(sink), 'writeTo: the promise of the sink');
  if (!isSink(opened)) throw wrong(`the second argument must be a sink, like csv({ path }), not ${kindOf(opened)}`);
  if (used.has(opened)) throw wrong('this sink was already used; open another one for another stream');
  used.add(opened);
  return opened;
}

/** @throws {SinkError} `E_SINK_CONFIG` for an invalid stream, invalid options, and columns that the rows do not have. */
export function checkWriting(rows: unknown, options: { readonly columns?: readonly Column[] | undefined }): void {
  const isStream = rows instanceof RowStream;
  if (!isStream && !isObservable(rows)) throw wrong(`the first argument must be a stream of rows, like service.leads, not ${kindOf(rows)}`);
  const [problem] = faultsIn(taken, options);
  if (problem !== undefined) throw wrong(`the third argument, like { columns: columnsOf(collections.leads) }: ${problem}`);
  const known = isStream ? rows.columns?.map(({ name }) => name) : undefined;
  if (options.columns === undefined) {
    if (known !== undefined) return;
    const why = isStream
      ? "they are unknown after foreign operators, and after mapRows, mapAsync and liftRows without { columns: { id: 'text', … } }"
      : 'an observable of pages does not declare them; one of rows, like rows$, cannot be written: pass the stream itself, like service.leads';
    throw wrong(`name the columns of the rows, like { columns: columnsOf(collections.leads) }: ${why}`);
  }
  const absent = options.columns.find(({ name }) => known !== undefined && !known.includes(name));
  if (known !== undefined && absent !== undefined) throw wrong(`columns: ${unknownName('field', absent.name, known)}`);
}

/** Creates the error for invalid arguments of `writeTo`. */
export function wrong(message: string): SinkError {
  return new SinkError('E_SINK_CONFIG', `writeTo: ${message}`);
}

function isSink(value: unknown): value is SinkWriter {
  return isRecord(value) && ['begin', 'write', 'prepare', 'abort'].every((name) => typeof value[name] === 'function');
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
