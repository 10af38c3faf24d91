/**
 * The part of the FlatBuffers format that Arrow's messages need, as tagged values.
 *
 * @see https://flatbuffers.dev/internals
 */
export type Field =
  | { readonly kind: 'byte' | 'short' | 'int'; readonly value: number }
  | { readonly kind: 'long'; readonly value: number }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'table'; readonly fields: Table }
  | { readonly kind: 'tables'; readonly items: readonly Table[] }
  /** Structs of 64-bit numbers, with `width` numbers each. */
  | { readonly kind: 'structs'; readonly width: number; readonly values: readonly number[] };

/** Fields by their position in the schema; `undefined` leaves one out. */
export type Table = readonly (Field | undefined)[];

export const byte = (value: number): Field => ({ kind: 'byte', value });
export const short = (value: number): Field => ({ kind: 'short', value });
export const int = (value: number): Field => ({ kind: 'int', value });
export const long = (value: number): Field => ({ kind: 'long', value });
export const string = (value: string): Field => ({ kind: 'string', value });
export const table = (...fields: Table): Field => ({ kind: 'table', fields });
export const tables = (items: readonly Table[]): Field => ({ kind: 'tables', items });
export const structs = (width: number, values: readonly number[]): Field => ({ kind: 'structs', width, values });

/** Serializes a table as the root of a buffer, whose length is a multiple of 8. */
export function flatbuffer(root: Table): Uint8Array<ArrayBuffer> {
  const writer = new Writer();
  writer.reference(writer.reserve(8), () => writer.table(root));
  return writer.take();
}

/** Writes parents before children. Every field occupies 8 bytes, so that everything is aligned at any position. */
class Writer {
  #view = new DataView(new ArrayBuffer(1024));
  #end = 0;

  /** Appends zeros, keeping the length a multiple of 8. Returns where they start. */
  reserve(bytes: number): number {
    const start = this.#end;
    this.#end += (bytes + 7) & ~7;
    if (this.#end > this.#view.byteLength) {
      const bigger = new Uint8Array(this.#end * 2);
      bigger.set(new Uint8Array(this.#view.buffer));
      this.#view = new DataView(bigger.buffer);
    }
    return start;
  }

  /** Makes the field at an offset point to what `write` writes. */
  reference(at: number, write: () => number): void {
    const target = write();
    this.#view.setUint32(at, target - at, true);
  }

  table(fields: Table): number {
    const vtable = this.reserve(4 + fields.length * 2);
    const start = this.reserve(8 + fields.length * 8);
    this.#view.setUint16(vtable, 4 + fields.length * 2, true);
    this.#view.setUint16(vtable + 2, 8 + fields.length * 8, true);
    this.#view.setInt32(start, start - vtable, true);
    for (const [index, field] of fields.entries()) {
      if (!field) continue;
      this.#view.setUint16(vtable + 4 + index * 2, 8 + index * 8, true);
      this.#field(start + 8 + index * 8, field);
    }
    return start;
  }

  take(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#view.buffer, 0, this.#end);
  }

  #field(at: number, field: Field): void {
    switch (field.kind) {
      case 'byte':
        return this.#view.setUint8(at, field.value);
      case 'short':
        return this.#view.setInt16(at, field.value, true);
      case 'int':
        return this.#view.setInt32(at, field.value, true);
      case 'long':
        return this.#view.setBigInt64(at, BigInt(field.value), true);
      case 'string':
        return this.reference(at, () => this.#string(field.value));
      case 'table':
        return this.reference(at, () => this.table(field.fields));
      case 'tables':
        return this.reference(at, () => this.#tables(field.items));
      case 'structs':
        return this.reference(at, () => this.#structs(field.width, field.values));
    }
  }

  #string(text: string): number {
    const bytes = Buffer.from(text);
    const start = this.reserve(4 + bytes.length + 1);
    this.#view.setUint32(start, bytes.length, true);
    new Uint8Array(this.#view.buffer).set(bytes, start + 4);
    return start;
  }

  #tables(items: readonly Table[]): number {
    const start = this.reserve(4 + items.length * 4);
    this.#view.setUint32(start, items.length, true);
    for (const [index, item] of items.entries()) this.reference(start + 4 + index * 4, () => this.table(item));
    return start;
  }

  /** Writes the length immediately before the first struct, which is aligned to 8. */
  #structs(width: number, values: readonly number[]): number {
    const start = this.reserve(8 + values.length * 8);
    this.#view.setUint32(start + 4, values.length / width, true);
    for (const [index, value] of values.entries()) this.#view.setBigInt64(start + 8 + index * 8, BigInt(value), true);
    return start + 4;
  }
}
