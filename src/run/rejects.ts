import type { Collection } from '../collections/index.js';
import { amount, amountOf, type Column, type Row, type Value, type Violation } from '../core/index.js';
import { type Action, commitUnlogged, openOutput, type OutputFile, type OutputFileOptions } from '../store/index.js';
import type { Fault } from '../flow/index.js';
import { exceeds, written, type RejectsPlan } from '../plan/index.js';

type RejectsOptions = Pick<RejectsPlan, 'path' | 'max' | 'rows'>;

/** Writes rejected rows as lines of JSON, with place, key, field and reason. Memory: a count per place, field and reason. */
export class Rejects {
  readonly #reasons = new Map<string, number>();
  #noted: string[] = [];
  /** Rows that were rejected. */
  count = 0;
  #closed = false;
  #isPublished = false;

  private constructor(
    private readonly options: RejectsOptions,
    private readonly collection: Collection,
    private readonly file: OutputFile | undefined,
  ) {}

  static async open(options: RejectsOptions, collection: Collection, place: OutputFileOptions): Promise<Rejects> {
    const { path } = options;
    return new Rejects(options, collection, path === undefined ? undefined : await openOutput(path, place));
  }

  /** @param columns Those where the row was rejected: the key may have other names there, or be gone. */
  readonly add = (at: string, columns: readonly Column[], row: Row, { field, reason }: Fault): void => {
    this.#counted(`${at}, ${field}: ${reason}`);
    if (!this.file) return;
    const key = this.collection.key.map((name) => {
      const column = columns.find(({ source }) => source === name);
      return [name, column === undefined ? null : (row[column.name] ?? null)] as const;
    });
    this.#noted.push(
      `${JSON.stringify({ at, key: Object.fromEntries(key), field, reason, ...(this.options.rows ? { row } : {}) }, plain)}\n`,
    );
  };

  /** Adds the lines of another process. */
  async adopt(lines: readonly string[]): Promise<void> {
    for (const line of lines) {
      const { at, field, reason } = JSON.parse(line) as Readonly<Record<string, string>>;
      this.#counted(`${at}, ${field}: ${reason}`);
      if (this.file) this.#noted.push(`${line}\n`);
    }
    await this.flush();
  }

  async flush(): Promise<void> {
    const lines = this.#noted;
    this.#noted = [];
    if (lines.length > 0) await this.file?.append(lines.join(''));
  }

  refuse(rejected: number, read: number): readonly Violation[] {
    const { max, path } = this.options;
    if (!exceeds(rejected, max, read)) return [];
    const where = path === undefined ? '' : `; see ${path}`;
    const most = `${amount(rejected)} of ${amountOf(read, 'row')} ${rejected === 1 ? 'was' : 'were'} rejected, but at most ${written(max)} may be`;
    const [first] = [...this.#reasons].toSorted(([, a], [, b]) => b - a);
    const why = first === undefined ? '' : `; most often by ${first[0]} (${amountOf(first[1], 'row')})`;
    return [{ code: 'E_GATE_REJECTS', message: `${most}${why}${where}` }];
  }

  async actions(): Promise<readonly Action[]> {
    if (!this.file) return [];
    if (!this.#closed) {
      this.#closed = true;
      await this.flush();
      await this.file.close();
    }
    return this.file.actions;
  }

  /** Publishes a file on a store, after `actions`. */
  async commit(): Promise<void> {
    await this.file?.commit?.();
  }

  #counted(whence: string): void {
    this.count += 1;
    this.#reasons.set(whence, (this.#reasons.get(whence) ?? 0) + 1);
  }

  /** Publishes the file, if rows were rejected, of a run whose outputs are not committed. */
  async close(): Promise<void> {
    const { path } = this.options;
    if (this.#isPublished) return;
    if (this.count === 0 || path === undefined) return this.file?.discard();
    this.#isPublished = true;
    try {
      await commitUnlogged({ outputs: [path], actions: await this.actions() });
      await this.commit();
    } catch (failure) {
      // A file that filled the disk must not stay.
      await this.file?.discard();
      throw failure;
    }
  }
}

function plain(_name: string, value: Value | object): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
