import { type OutputColumn, textOf, type Value } from '../core/index.js';
import { halfSipHash } from '../flow/index.js';
import { daysOf, DictionaryVector, keyOf, type RecordBatch, type RowDigests, rowDigests, type Vector } from '../vector/index.js';
import { folderOf, type ManifestFile } from './manifest.js';
import { textsIn } from './partitions.js';

/** What of a row is its key and its content. Both are the same for a row of a run and for one that is read from a file. */
export class RowShape {
  readonly #texts: readonly ((value: Value) => string | null)[];
  readonly #key: readonly number[];
  readonly #content: readonly number[];

  /**
   * @param columns Those of the table, but not the date of a run.
   * @param key Names of columns that identify a row.
   * @param ignored Names of columns that are no part of the content.
   * @param folders The fields that are in names of folders instead of files, by level.
   */
  constructor(
    readonly columns: readonly OutputColumn[],
    readonly key: readonly string[],
    readonly ignored: readonly string[],
    private readonly folders: readonly string[],
  ) {
    this.#texts = columns.map((column) => this.#textOf(column));
    this.#key = columns.flatMap(({ name }, index) => (key.includes(name) ? [index] : []));
    this.#content = columns.flatMap(({ name }, index) => (ignored.includes(name) ? [] : [index]));
  }

  /** Returns the key of each row; `undefined` for an empty one. @param vectors Those of all columns. */
  keysOf(vectors: readonly (Vector | undefined)[]): (row: number) => string | undefined {
    const parts = this.#key.map((index) => ({ vector: vectors[index], textAt: this.#texts[index] }));
    return (row) => keyOf(parts.map(({ vector, textAt }) => textAt?.(vector?.value(row) ?? null) ?? null));
  }

  /** Returns the digests of the content of rows with a secret. */
  digests(seed: Uint32Array): RowDigests {
    const columns = this.#content.map((index) => {
      const { name = '', type } = this.columns[index] ?? {};
      const textOf = this.#texts[index];
      return { name, ...(textOf && (type !== 'text' || this.#isInFolder(index)) && { textOf }) };
    });
    const digestsOf = rowDigests(columns, (name) => {
      const key = new Uint32Array(4);
      halfSipHash(`\0${name}`, seed, key);
      return key;
    });
    const contentOf = (vectors: readonly Vector[]) => this.#content.flatMap((index) => vectors[index] ?? []);
    return (rows, vectors) => digestsOf(rows, contentOf(vectors));
  }

  /** Returns the columns of rows that were read from a file, those of its folder as texts. @param nameOf Returns their names in it. */
  vectorsOf(rows: RecordBatch, file: Pick<ManifestFile, 'name' | 'folder'>, nameOf = (name: string) => name): readonly Vector[] {
    const levels = this.folders.length === 0 ? [] : textsIn(folderOf(file));
    return this.columns.map(({ name, field }) => {
      const level = this.folders.indexOf(field);
      return level < 0 ? rows.columnOrNulls(nameOf(name)) : new DictionaryVector([levels[level] ?? null], new Uint16Array(rows.length));
    });
  }

  /** Returns the columns of the key that are in files. */
  get keyInFiles(): readonly string[] {
    return this.#key.flatMap((index) => (this.#isInFolder(index) ? [] : (this.columns[index]?.name ?? [])));
  }

  #isInFolder(index: number): boolean {
    return this.folders.includes(this.columns[index]?.field ?? '');
  }

  /** Names of folders do not distinguish null from the empty text, nor -0 from 0. */
  #textOf({ field, type }: OutputColumn): (value: Value) => string | null {
    if (this.folders.includes(field)) return (value) => (typeof value === 'string' ? value : textOf(value === 0 ? 0 : value, type)) || null;
    return (value) => {
      if (value === null || typeof value === 'string') return value;
      // Files have no time of a date.
      return value instanceof Date ? String(type === 'date' ? daysOf(value) : value.getTime()) : String(value);
    };
  }
}
