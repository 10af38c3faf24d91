import { taking, type Vector } from './vector.js';

/** Rows as the columns of an output, by their places. Values have the column's type, or are `null`; columns of texts may still be bytes. */
export class Batch {
  /** @param columns Each of as many rows. */
  constructor(
    readonly rows: number,
    readonly columns: readonly Vector[],
  ) {}

  /** @throws {Error} When there is no such column, which is a defect. */
  column(place: number): Vector {
    const vector = this.columns[place];
    if (!vector) throw new Error(`a batch of ${this.columns.length} columns has none at ${place}`);
    return vector;
  }

  /** Some of the columns, in the order given. */
  select(places: readonly number[]): Batch {
    return new Batch(
      this.rows,
      places.map((place) => this.column(place)),
    );
  }

  /** The rows with these indexes, which ascend. When all stay, nothing is copied. */
  keep(rows: readonly number[]): Batch {
    return rows.length === this.rows ? this : new Batch(rows.length, this.columns.map(taking(rows)));
  }
}
