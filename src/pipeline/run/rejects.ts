import type { Collection } from '../../collections/index.js';
import type { Column, Row, Value, Violation } from '../../core/index.js';
import { type PathNames, publish, reserveFile, type Move } from '../../store/index.js';
import type { Fault } from '../../flow/index.js';
import { maxOf, written, type Tolerance } from '../spec/units.js';

/** The gate on rejected rows and their file, as a file of pipelines says it. */
export interface RejectsPlan extends RejectsOptions {
  /** Absolute path of the file, as far as it is known before a run: its day and its id stay in braces. */
  readonly path: string | undefined;
  /** The path in a run. */
  pathOf(names: PathNames): string | undefined;
}

/** The same in a run. */
export interface RejectsOptions {
  /** Absolute path of the file; without one, rejects are only counted. */
  readonly path: string | undefined;
  readonly max: Tolerance;
  /** Whether the file holds the rows themselves, with all their personal values. */
  readonly rows: boolean;
}

/**
 * Where rejected rows go: one line of JSON each, with place, key, field and reason.
 *
 * Memory: a count per place, field and reason; a reason names kinds of values, so there are few.
 */
export interface Rejects {
  /**
   * Notes a rejected row; it reaches the disk with the next `flush`.
   *
   * @param columns The columns of the row where it was rejected: the key may have another name there, or be gone.
   */
  add(at: string, columns: readonly Column[], row: Row, fault: Fault): void;
  flush(): Promise<void>;
  /** What the gate has against more rejected rows than it allows of those read. */
  refuse(rejected: number, read: number): readonly Violation[];
  /** Ends the file. @returns The rename that publishes it, one of those that the run decides; none without a file. */
  publication(): Promise<readonly Move[]>;
  /** Instead of a publication, or when it was not decided: the file gets its name when rows were rejected, and goes otherwise. */
  close(): Promise<void>;
}

/** @throws {SinkError} `E_SINK_PATH` when the file cannot be written; nothing was requested yet. */
export async function openRejects(options: RejectsOptions, collection: Collection, runId: string): Promise<Rejects> {
  const file = options.path === undefined ? undefined : await reserveFile(options.path, runId);
  const keys = new WeakMap<readonly Column[], ReturnType<typeof keyIn>>();
  const reasons = new Map<string, number>();
  let noted: string[] = [];
  let count = 0;
  let closed = false;

  /** Where the columns of the key are by now. */
  function keyIn(columns: readonly Column[]): readonly (readonly [name: string, column: string | undefined])[] {
    const known = keys.get(columns) ?? collection.key.map((name) => [name, columns.find(({ source }) => source === name)?.name] as const);
    keys.set(columns, known);
    return known;
  }

  async function flush(): Promise<void> {
    const lines = noted;
    noted = [];
    if (lines.length > 0) await file?.append(lines.join(''));
  }

  async function publication(): Promise<readonly Move[]> {
    if (!file) return [];
    if (!closed) {
      closed = true;
      await flush();
      await file.close();
    }
    return [file.move];
  }

  return {
    add: (at, columns, row, { field, reason }) => {
      count += 1;
      const whence = `${at}, ${field}: ${reason}`;
      reasons.set(whence, (reasons.get(whence) ?? 0) + 1);
      if (!file) return;
      const key = Object.fromEntries(keyIn(columns).map(([name, column]) => [name, column === undefined ? null : (row[column] ?? null)]));
      noted.push(`${JSON.stringify({ at, key, field, reason, ...(options.rows ? { row } : {}) }, plain)}\n`);
    },
    flush,
    refuse: (rejected, read) => {
      if (rejected <= maxOf(options.max, read)) return [];
      const where = options.path === undefined ? '' : `; see ${options.path}`;
      const most = `${rejected} of ${read} rows were rejected, at most ${written(options.max)} may be`;
      return [{ code: 'E_GATE_REJECTS', message: `${most}${mostFrequent(reasons)}${where}` }];
    },
    publication,
    close: async () => {
      if (count === 0) await file?.discard();
      else await publish(await publication());
    },
  };
}

/** @param reasons Rows by place and reason. */
function mostFrequent(reasons: ReadonlyMap<string, number>): string {
  const [first] = [...reasons].toSorted(([, a], [, b]) => b - a);
  return first === undefined ? '' : `; most often by ${first[0]} (${first[1].toLocaleString('en-US')} ${first[1] === 1 ? 'row' : 'rows'})`;
}

function plain(_name: string, value: Value | object): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
