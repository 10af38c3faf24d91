import { itemAt, type DeclaredType, type Row } from '../../core/index.js';
import { isPromise, kindOf, kinds, wrongValue, type Refused } from '../../flow/index.js';
import { fieldOf, difference, TakenRows, type RecordBatch } from '../../vector/index.js';
import { typeOf, type StepColumns } from './columns.js';

/** How many rows a step may return for one row. */
export type RowsGiven = 'same' | 'fewer' | 'any';

/** Checks what a step returns against its declaration, and turns it into columns. Columns that the step leaves alone are not copied. */
export class GivenRows {
  readonly #taken: TakenRows;
  /** For each row taken, the index of the row it was made from. */
  readonly #places: number[] = [];
  readonly #stay: readonly string[];
  /** Finds the first field, among those the step leaves alone, in which a returned row differs from the original. */
  readonly #difference: ReturnType<typeof difference>;
  readonly #added: readonly (readonly [name: string, type: DeclaredType])[];
  readonly #known: ReadonlySet<string>;
  #oneForOne = true;
  #seen = 0;

  constructor(
    private readonly batch: RecordBatch,
    columns: StepColumns,
    private readonly most: RowsGiven,
  ) {
    const added = Object.entries(columns.adds);
    const gone = new Set([...columns.removes, ...added.map(([name]) => name)]);
    this.#difference = difference([...batch.columns.keys()].filter((name) => !gone.has(name)));
    this.#added = added.map(([name, type]) => [name, typeOf(type)]);
    this.#known = new Set([...batch.columns.keys(), ...added.map(([name]) => name)]);
    this.#stay = [...batch.columns.keys()].filter((name) => !columns.removes.includes(name));
    this.#taken = new TakenRows(added.map(([name]) => name));
  }

  /** Takes what was returned for a row. @returns What is wrong with it, if anything. */
  take(row: Row, given: unknown): Refused | undefined {
    const some: readonly unknown[] = Array.isArray(given) ? given : given === null || given === undefined ? [] : [given];
    if (some.length !== 1) this.#oneForOne = false;
    const wrong = this.#wrongCount(some.length);
    if (wrong) return wrong;
    for (const each of some) {
      if (isPromise(each))
        return {
          what: 'returned a promise',
          remedy: 'a step does not wait for it; read what it needs beforehand, or use mapAsync in a program',
        };
      if (!isRow(each)) return { what: `returned ${kindOf(each)}`, remedy: 'return a row, like { ...row }' };
      const fault = this.#wrongFields(row, each);
      if (fault) return fault;
      this.#taken.take(each);
      this.#places.push(this.#seen);
    }
    this.#seen += 1;
    return undefined;
  }

  /** Number of rows taken. */
  get length(): number {
    return this.#taken.length;
  }

  /** Finds the first added field that was changed after its row was returned, and the index of the row it was made from. */
  changed(): { readonly index: number; readonly field: string } | undefined {
    const changed = this.#taken.changed();
    return changed && { index: itemAt(this.#places, changed.index), field: changed.field };
  }

  /** Returns the rows taken, as columns. */
  toBatch(): RecordBatch {
    const left = this.batch.select(this.#stay);
    const kept = this.#oneForOne ? left : left.take(this.#places);
    return kept.with(this.#added.map(([name]) => [name, this.#taken.column(name)] as const));
  }

  #wrongCount(count: number): Refused | undefined {
    if (count === 0 && this.most === 'same')
      return {
        what: 'returned no row',
        remedy: "declare rows: 'fewer' if the step leaves rows out; a row kept for later would be lost",
      };
    if (count > 1 && this.most !== 'any')
      return { what: `returned ${count} rows`, remedy: "declare rows: 'any' if the step returns several" };
    return undefined;
  }

  #wrongFields(row: Row, given: Row): Refused | undefined {
    const other = this.#difference(row, given);
    if (other !== undefined) {
      if (!Object.hasOwn(given, other))
        return { what: `left out the field '${other}'`, remedy: 'return { ...row, … }, or list it under removes' };
      return { what: `changed the field '${other}'`, remedy: 'list it under adds, with its type' };
    }
    for (const [name, type] of this.#added) {
      const wrong = wrongValue(name, type, given[name]);
      if (wrong !== undefined && fieldOf(given, name) !== undefined)
        return { what: wrong, remedy: `adds declares it as ${type}, which is ${kinds[type]}` };
    }
    const unknown = Object.keys(given).find((name) => !this.#known.has(name));
    return unknown === undefined ? undefined : { what: `added the field '${unknown}'`, remedy: 'list it under adds, with its type' };
  }
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
