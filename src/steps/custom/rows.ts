import type { DeclaredType, Row } from '../../core/index.js';
import { isPromise, kindOf, kinds, wrongValue, type Refused } from '../../flow/index.js';
import { difference, FlatVector, RecordBatch, type Vector } from '../../vector/index.js';
import { typeOf, type StepColumns } from './columns.js';

/** What a step may give for a row. */
export type RowsGiven = 'same' | 'fewer' | 'any';

/** Holds what a step gives to what it declares, and makes columns of it: those that it left alone are not copied. */
export class GivenRows {
  readonly rows: Row[] = [];
  /** The first field in which a row that was given differs from the one that came, of those that the step leaves alone. */
  readonly #difference: ReturnType<typeof difference>;
  readonly #added: readonly (readonly [name: string, type: DeclaredType])[];
  readonly #known: ReadonlySet<string>;
  #oneForOne = true;

  constructor(
    private readonly batch: RecordBatch,
    private readonly columns: StepColumns,
    private readonly most: RowsGiven,
  ) {
    const added = Object.entries(columns.adds);
    const gone = new Set([...columns.removes, ...added.map(([name]) => name)]);
    this.#difference = difference([...batch.columns.keys()].filter((name) => !gone.has(name)));
    this.#added = added.map(([name, type]) => [name, typeOf(type)]);
    this.#known = new Set([...batch.columns.keys(), ...added.map(([name]) => name)]);
  }

  /** Takes what was given for a row. @returns What is wrong with it. */
  take(row: Row, given: unknown): Refused | undefined {
    const some: readonly unknown[] = Array.isArray(given) ? given : given === null || given === undefined ? [] : [given];
    if (some.length !== 1) this.#oneForOne = false;
    const wrong = this.#wrongCount(some.length);
    if (wrong) return wrong;
    for (const each of some) {
      if (isPromise(each))
        return { what: 'gave a promise', remedy: 'a step does not wait for it; read what it needs before, or use mapAsync in a program' };
      if (!isRow(each)) return { what: `gave ${kindOf(each)}`, remedy: 'give a row, like { ...row }' };
      const fault = this.#wrongFields(row, each);
      if (fault) return fault;
      this.rows.push(each);
    }
    return undefined;
  }

  /** What was given, by columns. */
  toBatch(): RecordBatch {
    const { rows } = this;
    const column = (name: string): Vector => new FlatVector(rows.map((row) => row[name] ?? null));
    const added = new Set(this.#added.map(([name]) => name));
    const stay = [...this.batch.columns.keys()].filter((name) => !this.columns.removes.includes(name));
    const kept = stay.map((name) => [name, added.has(name) || !this.#oneForOne ? column(name) : this.batch.column(name)] as const);
    return new RecordBatch(rows.length, new Map([...kept, ...[...added].map((name) => [name, column(name)] as const)]));
  }

  #wrongCount(count: number): Refused | undefined {
    if (count === 0 && this.most === 'same')
      return {
        what: 'gave no row',
        remedy: "a step that leaves rows out says so by rows: 'fewer'; one that it keeps for later would be lost",
      };
    if (count > 1 && this.most !== 'any') return { what: `gave ${count} rows`, remedy: "a step that gives several says so by rows: 'any'" };
    return undefined;
  }

  #wrongFields(row: Row, given: Row): Refused | undefined {
    const other = this.#difference(row, given);
    if (other !== undefined) {
      if (!Object.hasOwn(given, other))
        return { what: `left out the field '${other}'`, remedy: 'give { ...row, … }, or name it under removes' };
      return { what: `changed the field '${other}'`, remedy: 'name it under adds, with its type' };
    }
    for (const [name, type] of this.#added) {
      const wrong = wrongValue(name, type, given[name]);
      if (wrong !== undefined) return { what: wrong, remedy: `adds declares it as ${type}, which is ${kinds[type]}` };
    }
    const unknown = Object.keys(given).find((name) => !this.#known.has(name));
    return unknown === undefined ? undefined : { what: `gave the field '${unknown}'`, remedy: 'name it under adds, with its type' };
  }
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
