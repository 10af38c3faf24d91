import { itemAt, StepError, type DeclaredType, type Value } from '../../core/index.js';
import type { SortKey } from '../../sorting/index.js';
import { FlatVector, RecordBatch, type Mapped, type Vector } from '../../vector/index.js';
import type { Results } from './accumulator.js';
import type { AggregateName } from './functions.js';
import { bytesOf, comparedAs, comparingPlain, plainAt, plainOf, valueOf, type Plain } from './plain.js';

/** A field to group by. */
export interface GroupField {
  readonly field: string;
  readonly type: DeclaredType;
}

/** What is computed for each group. */
export interface Computation {
  /** Name of the result. */
  readonly name: string;
  readonly aggregate: AggregateName;
  /** Label of the plain values to aggregate; `undefined` to count rows. */
  readonly argument: string | undefined;
  /** Type of these values. */
  readonly type: DeclaredType;
}

/** What an aggregation computes. */
export interface AggregatePlan {
  readonly by: readonly GroupField[];
  readonly compute: readonly Computation[];
  /** Returns the plain values for the rows of a page, by field or argument. @param page Number of the page, for messages. */
  read(batch: RecordBatch, page: number): ReadonlyMap<string, Mapped>;
}

/** Bytes per group, in addition to its key and its results. */
const perGroup = 64;

/** Groups and their results, numbered from 0 in the order in which they were opened. */
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

  /** Approximate memory use, in bytes. */
  get bytes(): number {
    return this.accumulators.reduce((sum, { bytes }) => sum + bytes, this.#keyBytes);
  }

  /** Starts a group. @returns Its number. */
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

  /** Returns whether a group has the key of a stored row. */
  is(group: number, keys: readonly Vector[], row: number): boolean {
    return this.#keys.every((column, index) => plainAt(column, group) === plainOf(itemAt(keys, index), row));
  }

  /** Returns all groups sorted by key, `null` last. */
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

  /** Returns groups as rows: their keys, then their results. @throws {StepError} `E_STEP_OVERFLOW`. */
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

  /** Returns the keys of some groups, to be stored along with their state. */
  keysOf(groups: Uint32Array | readonly number[]): readonly (readonly [name: string, vector: FlatVector])[] {
    return this.#keys.map((values, index) => [keyName(index), columnOf(groups, (group) => plainAt(values, group))] as const);
  }
}

/** Returns the sort keys of stored rows. */
export function storedKeys(by: readonly GroupField[]): readonly SortKey[] {
  return by.map(({ type }, index) => ({ field: keyName(index), type: comparedAs(type) }));
}

/** Returns the key columns of stored rows. */
export function keysIn(batch: RecordBatch, by: readonly GroupField[]): readonly Vector[] {
  return by.map((_, index) => batch.column(keyName(index)));
}

/** Returns the values of a stored row. */
export function plainsAt(vectors: readonly Vector[], row: number): readonly Plain[] {
  return vectors.map((vector) => plainOf(vector, row));
}

/** Returns the names of the columns with the state of a result, in stored rows. @param place Index of its computation. */
export function stateNames({ width }: Results, place: number): readonly string[] {
  return Array.from({ length: width }, (_, index) => `state ${place} ${index}`);
}

function keyName(index: number): string {
  return `key ${index}`;
}

function columnOf(groups: Uint32Array | readonly number[], valueAt: (group: number) => Value): FlatVector {
  return new FlatVector(Array.from(groups, valueAt));
}

/** Accepts the result `null`, and refuses one that its type cannot hold. */
function refuseLarge(result: Value | undefined, name: string, at: string): null {
  if (result === null) return null;
  throw new StepError('E_STEP_OVERFLOW', `${at}: ${name}: a sum is too large for its type`);
}
