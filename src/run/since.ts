import { amountOf, type Consistency, SourceError } from '../core/index.js';
import { accountMark } from '../http/index.js';
import type { SinceState } from '../lake/index.js';
import type { Pipeline } from '../plan/index.js';
import type { ListRange, ReadPage } from '../source/index.js';
import { sha256Text } from '../store/index.js';
import type { Counts } from './counts.js';
import type { RunOutputs } from './outputs.js';
import { each } from './publish.js';
import type { Run } from './start.js';

type EndOfRead = NonNullable<SinceState['end']>;

/**
 * What a run of a pipeline with `since` reads: the list from some pages before the end of the last read, if its rows there are the same,
 * and after any doubt all of it. Rows that are read again change nothing, since outputs go by keys. Memory: 4 bytes for each row that is
 * read, of a whole list for those of the last pages.
 */
export class Since {
  /** What is read of the list. Default: all of it. */
  range: ListRange | undefined;
  readonly #of: string;
  /** What the last run of all outputs left. */
  #last: SinceState | undefined;
  /** The run that switched `since` off for this pipeline. */
  #off: string | undefined;
  /** The last pages, with a digest of each row. */
  readonly #pages: { readonly position: number; readonly digests: Uint32Array }[] = [];
  /** Number of the first page that a run from there would read. */
  #firstPage = Infinity;
  /** What the outputs did not know of the rows before that page. */
  #missed: { readonly inserted: number; readonly changed: number } | undefined;

  constructor(
    private readonly options: NonNullable<Pipeline['since']>,
    pipeline: Pipeline,
    private readonly run: Pick<Run, 'runId' | 'startedAt' | 'options'>,
  ) {
    const { fingerprint, services, plan, hmacKey = '' } = pipeline;
    const accounts = Object.values(services).flatMap(({ connection: { baseUrl, auth } }) => [baseUrl, accountMark(auth)]);
    // As for an account, 16 bits of the key, so that no guess of it can be confirmed.
    this.#of = sha256Text(JSON.stringify([fingerprint, plan.collection.name, sha256Text(hmacKey).slice(0, 4), ...accounts]));
  }

  /**
   * Chooses what is read.
   *
   * @param doubt Why an earlier attempt of this run was given up.
   * @returns Why it is the whole list, unless that was to be expected.
   */
  begin(outputs: RunOutputs['opened'], counts: Counts | undefined, doubt: string | undefined): string | undefined {
    const states = outputs.flatMap(({ earlier }) => earlier?.since ?? []);
    const isNew = outputs.every(({ earlier }) => earlier === undefined);
    const isOther = states.some(({ of }) => of !== this.#of);
    const isReturned = outputs.some(({ output, earlier }) => {
      const last = counts?.ofOutput(output)?.run;
      return last !== undefined && last !== earlier?.since?.run;
    });
    const isOneRun = states.every(({ run }) => run === states[0]?.run);
    if (states.length === outputs.length && !isOther && isOneRun) this.#last = states[0];
    if (!isOther) this.#off = states.find((state) => state.off !== undefined)?.off;
    if (doubt !== undefined || isNew || this.run.options.restart) return doubt;
    if (states.length < outputs.length) return 'an output has no record of its last read, or other rows than that left';
    if (isOther) return 'the pipeline, its service, its account or its key of masks is not that of the last run';
    const { end, whole = '' } = this.#last ?? {};
    if (this.#off !== undefined)
      return `since is off, because run ${this.#off} found rows that earlier ones had missed; change the file to try it again`;
    if (isReturned || !isOneRun) return 'an output is not as the last run left it, as after a rollback';
    if (!end) return 'the list changed while the last run read it';
    const age = Date.parse(this.run.startedAt) - Date.parse(whole);
    if (age >= 0 && age < this.options.full_every && end.from > 0) this.range = { from: end.from };
    return undefined;
  }

  /** Notes the rows of a page as they are in the list. */
  readonly onRead = ({ number, position, digests }: ReadPage): void => {
    if (position >= (this.#last?.end?.from ?? Infinity)) this.#firstPage = Math.min(number, this.#firstPage);
    if (this.#pages.at(-1)?.position === position) this.#pages.pop();
    this.#pages.push({ position, digests });
    if (!this.range && this.#pages.length > this.options.overlap + 1) this.#pages.shift();
  };

  /** Called before each page is written, and after the last one: counts what was new or changed in the rows before `#firstPage`. */
  async beforePage(number: number, outputs: RunOutputs): Promise<void> {
    if (this.range || !this.#last?.end || this.#missed || number < this.#firstPage) return;
    const counts = await each(outputs.opened, async ({ writer }) => (await writer.soFar?.()) ?? { inserted: 0, changed: 0 });
    const most = (name: 'inserted' | 'changed') => Math.max(...counts.map((count) => count[name]));
    this.#missed = { inserted: most('inserted'), changed: most('changed') };
  }

  /** @returns Why the whole list has to be read after all. */
  doubt(consistency: Consistency): string | undefined {
    const end = this.#last?.end;
    if (!this.range || !end) return undefined;
    const [first] = this.#pages;
    if (first?.position !== end.from || first.digests.length !== end.size) return 'its pages have another size than in the last run';
    if (this.#digest(end.from, end.rows) !== end.sha256)
      return 'the last rows of the last run are not the same now, or not at their places';
    return isCertain(consistency) ? undefined : 'it changed while its end was read';
  }

  /** @returns The same for a failure, unless it has other causes than the list. */
  doubtOf(failure: unknown): string | undefined {
    return this.range && failure instanceof SourceError && failure.kind === 'permanent' ? failure.message : undefined;
  }

  /** What earlier runs had missed, in a sentence; `undefined` if nothing. */
  get missed(): string | undefined {
    const { inserted = 0, changed = 0 } = this.#missed ?? {};
    if (inserted + changed === 0) return undefined;
    const found = `${amountOf(inserted, 'row')} and ${amountOf(changed, 'changed row')} before the end of the list`;
    return `${found} had been missed by runs with since${inserted > 0 ? ', which is off until the file changes' : ''}`;
  }

  /** Returns what the next run needs to know, once everything is read. */
  state(consistency: Consistency): SinceState {
    const { runId: run, startedAt } = this.run;
    const whole = (this.range && this.#last?.whole) ?? startedAt;
    const off = this.#off ?? (this.#missed?.inserted ? run : undefined);
    return { run, of: this.#of, whole, off, ...(isCertain(consistency) && { end: this.#end }) };
  }

  get #end(): EndOfRead {
    const { overlap } = this.options;
    const size = Math.max(0, ...this.#pages.map(({ digests }) => digests.length));
    const isFull = this.#pages.at(-1)?.digests.length === size;
    const kept = this.#pages.slice(isFull ? -overlap : -overlap - 1);
    const from = kept[0]?.position ?? 0;
    const rows = kept.reduce((sum, { digests }) => sum + digests.length, 0);
    // A short list is always read whole.
    return { from, rows, size, sha256: from === 0 ? '' : this.#digest(from, rows) };
  }

  #digest(from: number, rows: number): string {
    const begin = from - (this.#pages[0]?.position ?? 0);
    return sha256Text(
      this.#pages
        .flatMap(({ digests }) => [...digests])
        .slice(begin, begin + rows)
        .join(),
    );
  }
}

/** Whether rows are at the places where they were read. */
function isCertain({ outcome, repaired, growing }: Consistency): boolean {
  return (outcome === 'stable' || outcome === 'proven') && repaired === 0 && !growing;
}
