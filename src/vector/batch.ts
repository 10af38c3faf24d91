import { taking, type Vector } from './vectors.js';

/** Rows as the columns of an output, by index. Values have the column's type or are `null`; text columns may still be bytes. */
export class Batch {
  /**
   * @param columns Each with `rows` rows.
   */
  constructor(
    readonly rows: number,
    readonly columns: readonly Vector[],
  ) {}

  /** @throws {Error} If there is no such column, which is a defect. */
  column(place: number): Vector {
    const vector = this.columns[place];
    if (!vector) throw new Error(`a batch of ${this.columns.length} columns has none at ${place}`);
    return vector;
  }

  /** Returns some of the columns, in the given order. */
  select(places: readonly number[]): Batch {
    return new Batch(
      this.rows,
      places.map((place) => this.column(place)),
    );
  }

  /** Returns the rows with these ascending indexes. If all rows stay, nothing is copied. */
  keep(rows: readonly number[]): Batch {
    return rows.length === this.rows ? this : new Batch(rows.length, this.columns.map(taking(rows)));
  }
}
