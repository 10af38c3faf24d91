import { LeadstreamError, SinkError, whatWasThrown } from '../../core/index.js';
import { unlessDry } from '../../flow/index.js';
import { given } from '../../options/index.js';
import type { CustomWriter, ToCommit, WrittenRow } from './declaration.js';

/** How long to wait for a running call when the output is aborted, in milliseconds. */
const graceMs = 10_000;

/** The writer of a custom sink, for rows of any type. */
export type AnyWriter = CustomWriter<WrittenRow<'typed'>>;

/** Calls the functions of a custom sink one at a time, and reports which of them failed, and where. */
export class SinkCalls {
  #ended = false;

  constructor(
    private readonly at: string,
    private readonly writer: AnyWriter,
  ) {}

  /** @param where Text after the name of the function, such as `page 3`. */
  async call(name: 'begin' | 'write', where: string, work: (writer: AnyWriter) => unknown): Promise<void> {
    const result = await sinkCall(this.at, `${name}${where}`, () => work(this.writer));
    if (typeof result !== 'boolean') return;
    const remedy = 'it must return a promise that resolves when the rows are stored; for a Node stream, wait for drain';
    throw new SinkError('E_SINK_FUNCTION', `${this.at}: ${name} returned ${result}${where}; ${remedy}`);
  }

  async commit(written: ToCommit): Promise<void> {
    await sinkCall(this.at, 'commit', () => this.writer.commit(written));
    this.#ended = true;
  }

  /** Calls `abort` at most once, and not after a commit. @param underWay Resolves when the running call has ended. */
  async abort(underWay: Promise<unknown>): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    await settledWithin(underWay, graceMs);
    await sinkCall(this.at, 'abort', () => this.writer.abort());
  }
}

/**
 * Calls a function of a custom sink and waits for its result.
 *
 * @throws {SinkError} `E_SINK_FUNCTION` for anything it throws other than failures of leadstream.
 * @throws {LeadstreamError} `E_RUN_STALLED` if the result never arrives, once the process has nothing else left to do.
 */
export async function sinkCall<T>(at: string, what: string, work: () => T | PromiseLike<T>): Promise<T> {
  try {
    return await unlessDry(Promise.resolve(work()), `${at}: ${what}`);
  } catch (thrown) {
    if (thrown instanceof LeadstreamError) throw thrown;
    throw new SinkError('E_SINK_FUNCTION', `${at}: ${what} failed with ${whatWasThrown(thrown)}`, { cause: thrown });
  }
}

/** @throws {SinkError} `E_SINK_FUNCTION` if the writer lacks a required function. */
export function checkWriter(at: string, writer: unknown): AnyWriter {
  const missing = ['write', 'commit', 'abort'].filter((name) => typeof functionIn(writer, name) !== 'function');
  const begin = functionIn(writer, 'begin');
  if (missing.length === 0 && (begin === undefined || typeof begin === 'function')) return writer as AnyWriter;
  const lacks = missing.length === 0 ? 'whose begin is not a function' : `without ${missing.join(', ')}`;
  const what = typeof writer === 'object' && writer !== null ? `an object ${lacks}` : given(writer);
  throw new SinkError('E_SINK_FUNCTION', `${at}: open returned ${what}; it must return an object with write, commit and abort`);
}

function functionIn(writer: unknown, name: string): unknown {
  return typeof writer === 'object' && writer !== null ? Reflect.get(writer, name) : undefined;
}

async function settledWithin(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([work, late]);
  clearTimeout(timer);
}
