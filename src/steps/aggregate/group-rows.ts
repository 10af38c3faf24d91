import { itemAt, StepError, type DeclaredType, type Value } from '../../core/index.js';
import type { SortKey } from '../../sorting/index.js';
import { FlatVector, RecordBatch, type Mapped, type Vector } from '../../vector/index.js';
import type { Results } from './accumulator.js';
import type { AggregateName } from './functions.js';
import { bytesOf, comparedAs, comparingPlain, plainAt, plainOf, valueOf, type Plain } from './plain.js';

/** A field that makes groups. */
export interface GroupField {
  readonly field: string;
  readonly type: DeclaredType;
}

/** What is computed of every group. */
export interface Computation {
  /** Name of the result. */
  readonly name: string;
  readonly aggregate: AggregateName;
  /** Which of the plain values of a row it takes; without, it counts rows. */
  readonly argument: string | undefined;
  /** Type of these. */
  readonly type: DeclaredType;
}

/** What an aggregation does. */
export interface AggregatePlan {
  readonly by: readonly GroupField[];
  readonly compute: readonly Computation[];
  /** Plain values for the rows of a page, by field or argument. @param page Its number, for messages. */
  read(batch: RecordBatch, page: number): ReadonlyMap<string, Mapped>;
}

/** What a group takes besides its key and its results. */
const perGroup = 64;

/** Groups with what is known of them, numbered from 0 in the order in which they were opened. */
export class GroupRows<A extends Results> {
  readonly #keys: readonly Plain[][];
  #size = 0;
  #keyBytes = 0;

  /** @param accumulators One per computation. */
  constructor(
    private readonly plan: AggregatePlan,
    readonly accumulators: readonly A[],
  ) {
    this.#keys = plan.by.map(() => []);
  }

  get size(): number {
    return this.#size;
  }

  /** About how many bytes of memory they take. */
  get bytes(): number {
    return this.accumulators.reduce((sum, { bytes }) => sum + bytes, this.#keyBytes);
  }

  /** Begins a group. @returns Its number. */
  open(key: readonly Plain[]): number {
    this.#keyBytes += perGroup;
    this.#keys.forEach((column, index) => {
      const value = plainAt(key, index);
      column.push(value);
      this.#keyBytes += 8 + bytesOf(value);
    });
    for (const each of this.accumulators) each.open();
    return this.#size++;
  }

  /** Whether a group has the key of a row that was stored. */
  is(group: number, keys: readonly Vector[], row: number): boolean {
    return this.#keys.every((column, index) => plainAt(column, group) === plainOf(itemAt(keys, index), row));
  }

  /** All groups by their keys, `null` last. */
  sorted(): Uint32Array {
    const columns = this.#keys.map((values, index) => ({ values, compare: comparingPlain(itemAt(this.plan.by, index).type) }));
    return Uint32Array.from({ length: this.#size }, (_, group) => group).sort((one, other) => {
      for (const { values, compare } of columns) {
        const order = compare(itemAt(values, one), itemAt(values, other));
        if (order !== 0) return order;
      }
      return 0;
    });
  }

  /** Groups as rows: their keys, then their results. @throws {StepError} `E_STEP_OVERFLOW`. */
  results(groups: Uint32Array, at: string): RecordBatch {
    const keys = this.plan.by.map(({ field, type }, index) => {
      const values = itemAt(this.#keys, index);
      return [field, columnOf(groups, (group) => valueOf(plainAt(values, group), type))] as const;
    });
    const results = this.plan.compute.map(({ name }, index) => {
      const each = itemAt(this.accumulators, index);
      return [name, columnOf(groups, (group) => each.result(group) ?? refuseLarge(each.result(group), name, at))] as const;
    });
    return new RecordBatch(groups.length, new Map([...keys, ...results]));
  }

  /** The keys of some groups, to be stored with what is known of these. */
  keysOf(groups: Uint32Array | readonly number[]): readonly (readonly [name: string, vector: FlatVector])[] {
    return this.#keys.map((values, index) => [keyName(index), columnOf(groups, (group) => plainAt(values, group))] as const);
  }
}

/** By what rows that were stored are sorted. */
export function storedKeys(by: readonly GroupField[]): readonly SortKey[] {
  return by.map(({ type }, index) => ({ field: keyName(index), type: comparedAs(type) }));
}

/** The columns with the keys of rows that were stored. */
export function keysIn(batch: RecordBatch, by: readonly GroupField[]): readonly Vector[] {
  return by.map((_, index) => batch.column(keyName(index)));
}

/** The values of a row that was stored. */
export function plainsAt(vectors: readonly Vector[], row: number): readonly Plain[] {
  return vectors.map((vector) => plainOf(vector, row));
}

/** The names of the columns with the state of a result, in rows that were stored. @param place Of its computation. */
export function stateNames({ width }: Results, place: number): readonly string[] {
  return Array.from({ length: width }, (_, index) => `state ${place} ${index}`);
}

function keyName(index: number): string {
  return `key ${index}`;
}

function columnOf(groups: Uint32Array | readonly number[], valueAt: (group: number) => Value): FlatVector {
  return new FlatVector(Array.from(groups, valueAt));
}

/** `null` is a result; one that its type cannot hold is none. */
function refuseLarge(result: Value | undefined, name: string, at: string): null {
  if (result === null) return null;
  throw new StepError('E_STEP_OVERFLOW', `${at}: ${name}: a sum is beyond what its type holds`);
}
