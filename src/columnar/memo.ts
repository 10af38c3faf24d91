import type { Value } from '../collections/index.js';
import { Coded, mostCodes } from './coded.js';
import type { Texts } from './texts.js';

/** Longer texts come once. */
const longest = 64;

/**
 * Remembers what a function finds for texts, by their bytes: for one that came before, no string is made. A column in which few
 * texts come twice is noticed, and looked up no more.
 *
 * Memory: `most` texts of at most 64 bytes and what was found for them; when there are more, it begins anew.
 *
 * @param find Depends on nothing but the text. A failure is not remembered.
 */
export function memoOfTexts<R>(find: (text: string) => R, most = 65_536): (texts: Texts, row: number) => R {
  let known = new Known<R>();
  let asked = 0;
  let pays = true;

  return (texts, row) => {
    const { bytes } = texts;
    const start = texts.start(row);
    const end = texts.end(row);
    if (!pays || end - start > longest) return find(texts.text(row));
    asked += 1;
    const hash = hashOf(bytes, start, end);
    const index = known.indexOf(bytes, start, end, hash);
    if (index >= 0) return known.found[index] as R;
    const found = find(texts.text(row));
    if (known.found.length >= most) {
      pays = asked > 2 * most;
      asked = 0;
      known = new Known();
    }
    known.add(bytes, start, end, hash, found);
    return found;
  };
}

/** Bytes of the texts of a dictionary, which a page may exceed. */
const mostBytes = 1 << 22;

/**
 * Finds the different texts of a column, page by page, by their bytes. A column in which few texts come twice is noticed, and left
 * alone from then on.
 *
 * Memory: a dictionary, of at most 4 MiB and a page of texts; when there are more, it begins anew.
 *
 * @returns `undefined` where it does not pay.
 */
export function codesOfTexts(): (texts: Texts) => Coded | undefined {
  let known = new Known<Value>();
  let asked = 0;
  let pays = true;

  /** @returns `undefined` when the dictionary is full. */
  function codesIn(texts: Texts): Uint16Array | undefined {
    const { bytes, length } = texts;
    if (known.size > mostBytes) return undefined;
    const codes = new Uint16Array(length);
    for (let row = 0; row < length; row += 1) {
      const start = texts.start(row);
      const end = texts.end(row);
      const hash = hashOf(bytes, start, end);
      const code = known.indexOf(bytes, start, end, hash);
      codes[row] = code < 0 ? known.found.length : code;
      if (code >= 0) continue;
      if (known.found.length >= mostCodes) return undefined;
      known.add(bytes, start, end, hash, texts.text(row));
    }
    return codes;
  }

  function codesAnew(texts: Texts): Uint16Array | undefined {
    pays = asked > 2 * known.found.length;
    asked = 0;
    known = new Known();
    return pays ? codesIn(texts) : undefined;
  }

  return (texts) => {
    if (!pays || texts.length > mostCodes) return undefined;
    asked += texts.length;
    const codes = codesIn(texts) ?? codesAnew(texts);
    return codes && new Coded(known.found, codes);
  };
}

/** Texts by their bytes: open addressing, at most half full. */
class Known<R> {
  readonly found: R[] = [];
  /** Two numbers each: one more than the index of an entry, where 0 is free, and its hash. */
  #slots = new Int32Array(64);
  #ends = new Int32Array(17);
  #bytes = new Uint8Array(256);

  /** Bytes of all texts. */
  get size(): number {
    return this.#ends[this.found.length] ?? 0;
  }

  /** @returns -1 when the text is not known. */
  indexOf(bytes: Uint8Array, start: number, end: number, hash: number): number {
    const slots = this.#slots;
    const mask = slots.length - 2;
    for (let at = (2 * hash) & mask; ; at = (at + 2) & mask) {
      const entry = (slots[at] ?? 0) - 1;
      if (entry < 0 || (slots[at + 1] === hash && this.#is(entry, bytes, start, end))) return entry;
    }
  }

  add(bytes: Uint8Array, start: number, end: number, hash: number, found: R): void {
    const entry = this.found.length;
    if (4 * (entry + 1) > this.#slots.length) this.#placeAnew();
    if (entry + 1 >= this.#ends.length) this.#ends = longer(this.#ends, 2 * this.#ends.length);
    const from = this.#ends[entry] ?? 0;
    const to = from + end - start;
    if (to > this.#bytes.length) this.#bytes = longer(this.#bytes, Math.max(2 * this.#bytes.length, to));
    for (let at = start; at < end; at += 1) this.#bytes[from + at - start] = bytes[at] ?? 0;
    this.#ends[entry + 1] = to;
    this.found.push(found);
    this.#place(entry, hash);
  }

  #is(entry: number, bytes: Uint8Array, start: number, end: number): boolean {
    const from = this.#ends[entry] ?? 0;
    if ((this.#ends[entry + 1] ?? 0) - from !== end - start) return false;
    for (let at = start; at < end; at += 1) if (this.#bytes[from + at - start] !== bytes[at]) return false;
    return true;
  }

  #place(entry: number, hash: number): void {
    const slots = this.#slots;
    const mask = slots.length - 2;
    let at = (2 * hash) & mask;
    while (slots[at] !== 0) at = (at + 2) & mask;
    slots[at] = entry + 1;
    slots[at + 1] = hash;
  }

  #placeAnew(): void {
    const slots = this.#slots;
    this.#slots = new Int32Array(2 * slots.length);
    for (let at = 0; at < slots.length; at += 2) if (slots[at] !== 0) this.#place((slots[at] ?? 0) - 1, slots[at + 1] ?? 0);
  }
}

function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
  // The low bits choose the slot, and of the last bytes they know little.
  return hash ^ (hash >>> 15);
}

function longer<A extends Int32Array | Uint8Array>(array: A, length: number): A;
function longer(array: Int32Array | Uint8Array, length: number): Int32Array | Uint8Array {
  const made = array instanceof Int32Array ? new Int32Array(length) : new Uint8Array(length);
  made.set(array);
  return made;
}
