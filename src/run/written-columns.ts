import { SinkError, type Column, type Value, type Warning } from '../core/index.js';
import { batchOf, isPage, type Page } from '../flow/index.js';
import { kindOf } from '../options/index.js';
import { firstOtherThanText } from '../vector/index.js';
import { wrong } from './write-to-check.js';

/** Checks the pages of a stream against the written columns: none may be missing, and none is left out silently. */
export class WrittenColumns {
  #columns: readonly Column[] | undefined;
  #names: ReadonlySet<string> = new Set();
  #begun = false;
  #looked = false;
  readonly #left = new Set<string>();

  /**
   * @param declared Columns named by the program; `undefined` to use those of the stream.
   * @param found Returns the columns of the stream as known after its first page.
   * @param warn Receives warnings.
   */
  constructor(
    private readonly declared: readonly Column[] | undefined,
    private readonly found: () => readonly Column[] | undefined,
    private readonly warn: (warning: Warning) => void,
  ) {}

  /** The columns, fixed by the first access. */
  get columns(): readonly Column[] {
    const columns = this.#columns ?? this.declared ?? this.found();
    if (columns === undefined) throw wrong('the columns of the rows are unknown');
    if (this.#columns === undefined) this.#names = new Set(columns.map(({ name }) => name));
    return (this.#columns = columns);
  }

  /**
   * Checks a page.
   *
   * @throws {SinkError} `E_SINK_CONFIG` if it is not a page, and for columns that the first rows lack; `E_SINK_FIELD` for a field without a column;
   * `E_SINK_VALUE` for values whose type differs from that of their column.
   */
  check(page: Page): void {
    if (!isPage(page)) throw wrong(`the stream emitted ${kindOf(page)}, which is not a page; pass service.leads or .pages$, not .rows$`);
    const { columns } = this;
    const isFirst = !this.#begun;
    this.#begun = true;
    const batch = batchOf(page);
    if (batch.length === 0) return;
    if (!this.#looked) this.#lookFor(columns, page, [...batch.columns.keys()]);
    this.#looked = true;
    const extra = [...batch.columns.keys()].filter((name) => !this.#names.has(name));
    if (this.declared !== undefined) return this.#tell(extra);
    if (extra.length > 0) throw unnamed(extra, page.number, isFirst);
    for (const { name, type } of columns) {
      const vector = batch.columns.get(name);
      if (type === 'text' && vector) refuseNoText(name, firstOtherThanText(vector), page.number);
    }
  }

  #lookFor(columns: readonly Column[], { number }: Page, fields: readonly string[]): void {
    const absent = columns.map(({ name }) => name).filter((name) => !fields.includes(name));
    if (absent.length > 0) {
      const which = `${absent.length} of ${columns.length} columns ${absent.length === 1 ? 'is' : 'are'} in no row of page ${number}: ${listed(absent)}`;
      throw wrong(`${which}; declare the columns of these rows, which have ${listed(fields)}`);
    }
  }

  /** Warns once about each field that is left out, on whatever page it first appears. */
  #tell(extra: readonly string[]): void {
    const left = extra.filter((name) => !this.#left.has(name));
    if (left.length === 0) return;
    for (const name of left) this.#left.add(name);
    this.warn({
      code: 'W_SINK_COLUMN',
      message: `writeTo: columns does not name ${listed(left)}, so ${left.length === 1 ? 'it is' : 'they are'} left out`,
    });
  }
}

/** @param isFirst Whether this is the first page. If so, the field comes from a program: a field of the service would have a column. */
function unnamed(names: readonly string[], page: number, isFirst: boolean): SinkError {
  const which = `${names.length === 1 ? 'the field' : 'the fields'} ${listed(names)}, which ${names.length === 1 ? 'has' : 'have'} no column`;
  const why = isFirst
    ? '; declare it in the columns of the stream, as with fromPages, or leave it out with select'
    : ', because page 1 did not have it';
  return new SinkError('E_SINK_FIELD', `writeTo: rows of page ${page} have ${which}${why}`);
}

function refuseNoText(name: string, strange: Value | undefined, page: number): void {
  const kind = strange instanceof Date ? 'timestamp' : typesBy[typeof strange];
  // Values that no column can hold are refused by the sink.
  if (kind === undefined) return;
  const what = `field ${name} has a value of type ${kind} on page ${page}, but its column has type text`;
  throw new SinkError(
    'E_SINK_VALUE',
    `writeTo: ${what}; declare the type where the field is made, like derive({ ${name}: { type: '${kind}', of: … } })`,
  );
}

/** The types of values by their `typeof`. */
const typesBy: Readonly<Record<string, 'flag' | 'integer' | 'decimal' | undefined>> = {
  boolean: 'flag',
  bigint: 'integer',
  number: 'decimal',
};

function listed(names: readonly string[]): string {
  return names.length > 8 ? `${names.slice(0, 8).join(', ')}, …` : names.join(', ');
}
