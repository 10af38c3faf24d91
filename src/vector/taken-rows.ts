import type { Row, Value } from '../core/index.js';
import { byShape } from './by-shape.js';
import { detachedCopier } from './copier.js';
import { FlatVector } from './flat-vector.js';
import { difference } from './row-guard.js';

/** Rows returned by functions, with their values at that time, so that later changes can be detected. */
export class TakenRows {
  readonly #names: readonly string[];
  readonly #rows: Row[] = [];
  readonly #values: Row[] = [];
  readonly #valuesOf: (row: Row) => Row;

  /**
   * @param names The fields that become columns.
   */
  constructor(names: readonly string[]) {
    this.#names = names;
    this.#valuesOf = valuesOf(names);
  }

  get length(): number {
    return this.#rows.length;
  }

  take(row: Row): void {
    this.#rows.push(row);
    this.#values.push(this.#valuesOf(row));
  }

  /**
   * Returns the index, from 0, and the field of a row that was changed after it was taken. The rows are not frozen, since they belong to the program.
   */
  changed(): { readonly index: number; readonly field: string } | undefined {
    const differs = difference(this.#names);
    for (const [index, row] of this.#rows.entries()) {
      const field = differs(this.#values[index] as Row, row);
      if (field !== undefined) return { index, field };
    }
    return undefined;
  }

  column(name: string): FlatVector {
    return new FlatVector(this.#values.map((row): Value => row[name] ?? null));
  }
}

const valuesOf = byShape(detachedCopier);
