import { isObservable } from 'rxjs';
import { declaredTypes, schema, type Column, SinkError, type Warning } from '../../core/index.js';
import { batchOf, isPage, type Page } from '../../flow/index.js';
import { watchersProblem } from '../../events/index.js';
import { given, judgedBy, optionProblems } from '../../options/index.js';
import type { SinkWriter } from '../../sinks/index.js';

const taken = schema((z) =>
  z.strictObject({
    columns: z
      .array(z.object({ name: z.string(), original: z.string(), type: z.enum(declaredTypes) }))
      .min(1)
      .readonly(),
    name: z.string().optional(),
    signal: z.custom((value) => value instanceof AbortSignal, 'must be an AbortSignal').optional(),
    watch: judgedBy(watchersProblem).optional(),
  }),
);

/** The sinks that something was written into: a second time would take back what the first one published. */
const used = new WeakSet<object>();

/**
 * Takes a sink for one use.
 *
 * @throws {SinkError} `E_SINK_CONFIG` for what is no sink, or was used already. A sink that still has to be awaited is given up first, so
 * that it leaves nothing; when it could not be opened, that is what is told.
 */
export async function claimSink(sink: SinkWriter | PromiseLike<SinkWriter>): Promise<void> {
  if (isPromise(sink)) {
    await (await sink).abort();
    throw wrong('the sink is a promise, which has to be awaited, like: await csv({ path })');
  }
  if (!isSink(sink)) throw wrong(`the second argument is a sink, like await csv({ path }), and not ${given(sink)}`);
  if (used.has(sink)) throw wrong('something was wrote to this sink before; open another one for another stream');
  used.add(sink);
}

/** @throws {SinkError} `E_SINK_CONFIG` for a stream that is none, and options that cannot be right. */
export function checkWriting(pages$: unknown, given$: unknown): void {
  if (!isObservable(pages$)) throw wrong(`the first argument is a stream of pages, like service.leads$, and not ${given(pages$)}`);
  const [problem] = optionProblems(taken(), given$);
  if (problem !== undefined) throw wrong(`the third argument, like { columns: columnsOf(collections.leads) }: ${problem}`);
}

/** @throws {SinkError} `E_SINK_CONFIG` for what a stream gives that is no page. */
export function checkPage(page: unknown): void {
  if (isPage(page)) return;
  throw wrong(`the stream gives ${given(page)} that is no page; write service.leads$ or service.pages(…), and not rows`);
}

/**
 * Holds the declared columns against the first page that has rows. A row of the client has a field for each column of its collection, be
 * it null; a column that no row of the page has was not meant for these rows.
 *
 * @throws {SinkError} `E_SINK_CONFIG` when the rows have fewer than half of the columns: these are of something else.
 */
export function checkColumns(columns: readonly Column[], page: Page, onWarning: (warning: Warning) => void): void {
  const fields = new Set(batchOf(page).columns.keys());
  const absent = columns.filter(({ name }) => !fields.has(name)).map(({ name }) => name);
  if (absent.length === 0) return;
  const message = `${absent.length} of ${columns.length} columns are in no row of page ${page.number}: ${listed(absent)}`;
  if (2 * absent.length > columns.length) throw wrong(`${message}; declare the columns of these rows, which have ${listed([...fields])}`);
  onWarning({ code: 'W_SINK_COLUMN', message: `writeTo: ${message}` });
}

function listed(names: readonly string[]): string {
  return names.length > 8 ? `${names.slice(0, 8).join(', ')}, …` : names.join(', ');
}

function isPromise(value: unknown): value is PromiseLike<SinkWriter> {
  return isRecord(value) && typeof value.then === 'function';
}

function isSink(value: unknown): value is SinkWriter {
  return isRecord(value) && ['begin', 'write', 'prepare', 'abort'].every((name) => typeof value[name] === 'function');
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function wrong(message: string): SinkError {
  return new SinkError('E_SINK_CONFIG', `writeTo: ${message}`);
}
