import { isUtf8 } from 'node:buffer';
import { Texts } from '../columnar/index.js';
import { unescape } from './unescape.js';

/** A list of records of one form. It is made of what can be handed to another thread. */
export interface Scanned {
  readonly rows: number;
  /** Names of the fields, in the order in which they came. */
  readonly names: readonly string[];
  /** The answer, and behind it the texts that were written with escapes. */
  readonly bytes: Uint8Array;
  /** Where the texts are in it: two offsets each, record by record. */
  readonly bounds: Int32Array;
}

/** The fields as columns, in the order in which they came. */
export function columnsIn({ rows, names, bytes, bounds }: Scanned): ReadonlyMap<string, Texts> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return new Map(names.map((name, index) => [name, new Texts(buffer, bounds, 2 * index, 2 * names.length, rows)]));
}

const [tab, lineFeed, carriageReturn, space] = [0x09, 0x0a, 0x0d, 0x20];
const [quote, comma, colon, backslash] = [0x22, 0x2c, 0x3a, 0x5c];
const [openList, closeList, openRecord, closeRecord] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Reads a JSON array of records in which all have the same fields in the same order and every value is a string, as the service
 * sends them: 1.3 µs for a record of 33 fields where UTF-8 and `JSON.parse` take 6.
 *
 * It looks for nothing else. What stands between the values of the first record must stand there in all others, byte by byte.
 *
 * @returns `undefined` for every other answer, valid or not; `JSON.parse` has to look at it. So have texts with a NUL or half a
 * surrogate pair.
 */
export function scan(answer: Uint8Array): Scanned | undefined {
  const body = Buffer.from(answer.buffer, answer.byteOffset, answer.byteLength);
  const form = formOf(body);
  return form && isUtf8(body) ? new Scan(body, form).run() : undefined;
}

/** How the records of an answer are written. */
interface Form {
  readonly names: readonly string[];
  /** Offset of the first record. */
  readonly start: number;
  /** What stands before each value of a record, behind one another, and how long each of these is. */
  readonly gaps: Buffer;
  readonly gapLengths: Uint32Array;
  /** What stands behind the last. */
  readonly close: Buffer;
  /** Bytes of the first record. */
  readonly length: number;
}

/** Takes the form from the first record. */
function formOf(body: Buffer): Form | undefined {
  let at = afterSpace(body, 0);
  if (body[at] !== openList) return undefined;
  const start = afterSpace(body, at + 1);
  if (body[start] !== openRecord) return undefined;
  const names = new Set<string>();
  const gaps: Uint8Array[] = [];
  let behind = start;
  at = start;
  do {
    const key = afterSpace(body, at + 1);
    const keyEnd = endOfText(body, key);
    if (keyEnd < 0 || body.subarray(key, keyEnd).includes(backslash)) return undefined;
    const between = afterSpace(body, keyEnd + 1);
    if (body[between] !== colon) return undefined;
    const value = afterSpace(body, between + 1);
    const valueEnd = endOfText(body, value);
    if (valueEnd < 0) return undefined;
    names.add(body.toString('utf8', key + 1, keyEnd));
    gaps.push(body.subarray(behind, value + 1));
    behind = valueEnd + 1;
    at = afterSpace(body, behind);
  } while (body[at] === comma);
  if (body[at] !== closeRecord || names.size < gaps.length) return undefined;
  const close = body.subarray(behind, at + 1);
  const gapLengths = Uint32Array.from(gaps, ({ length }) => length);
  return { names: [...names], start, gaps: Buffer.concat(gaps), gapLengths, close, length: at + 1 - start };
}

/** Offset of the quote behind a JSON string that begins at an offset; -1 if none does. */
function endOfText(body: Buffer, start: number): number {
  if (body[start] !== quote) return -1;
  for (let at = start + 1; at < body.length; at += 1) {
    const byte = body[at] ?? 0;
    if (byte === quote) return at;
    if (byte < space) return -1;
    if (byte === backslash) at += 1;
  }
  return -1;
}

function afterSpace(body: Buffer, start: number): number {
  let at = start;
  for (;;) {
    const byte = body[at];
    if (byte !== space && byte !== lineFeed && byte !== carriageReturn && byte !== tab) return at;
    at += 1;
  }
}

/** One pass over an answer. */
class Scan {
  /** Where the values are: two offsets each, record by record. */
  #bounds: Int32Array;
  /** Texts that were written with escapes, as they are without; they get a place behind the body. */
  #plain = Buffer.alloc(0);
  #plainLength = 0;

  constructor(
    private readonly body: Buffer,
    private readonly form: Form,
  ) {
    const records = Math.ceil((1.25 * body.length) / form.length) + 1;
    this.#bounds = new Int32Array(records * 2 * form.gapLengths.length);
  }

  run(): Scanned | undefined {
    const { body, form } = this;
    const width = 2 * form.gapLengths.length;
    let rows = 0;
    let at = form.start;
    for (;;) {
      if ((rows + 1) * width > this.#bounds.length) this.#grow();
      at = this.#record(at, rows * width);
      if (at < 0) return undefined;
      rows += 1;
      at = afterSpace(body, at);
      if (body[at] !== comma) break;
      at = afterSpace(body, at + 1);
    }
    if (body[at] !== closeList || afterSpace(body, at + 1) !== body.length) return undefined;
    const bytes = this.#plainLength === 0 ? body : Buffer.concat([body, this.#plain.subarray(0, this.#plainLength)]);
    return { rows, names: form.names, bytes, bounds: this.#bounds };
  }

  /** @returns The offset behind the record; -1 if it has another form. */
  #record(start: number, first: number): number {
    const { body, form } = this;
    const { gaps, gapLengths } = form;
    const bounds = this.#bounds;
    let at = start;
    let gap = 0;
    let bound = first;
    for (let field = 0; field < gapLengths.length; field += 1) {
      for (const end = gap + (gapLengths[field] ?? 0); gap < end; gap += 1) {
        if (body[at] !== gaps[gap]) return -1;
        at += 1;
      }
      const from = at;
      let byte = body[at] ?? 0;
      while (byte !== quote && byte !== backslash) {
        if (byte < space) return -1;
        at += 1;
        byte = body[at] ?? 0;
      }
      if (byte === quote) {
        bounds[bound] = from;
        bounds[bound + 1] = at;
      } else {
        at = this.#escaped(from, bound);
        if (at < 0) return -1;
      }
      bound += 2;
      at += 1;
    }
    for (const byte of form.close) {
      if (body[at] !== byte) return -1;
      at += 1;
    }
    return at;
  }

  /** @returns The offset of the quote behind a text with escapes; -1 if it has to be looked at by others. */
  #escaped(start: number, bound: number): number {
    const { body } = this;
    const end = endOfText(body, start - 1);
    if (end < 0) return -1;
    const needed = this.#plainLength + end - start;
    if (needed > this.#plain.length) this.#plain = Buffer.concat([this.#plain], Math.max(4096, 2 * needed));
    const plainEnd = unescape(body, start, end, this.#plain, this.#plainLength);
    if (plainEnd < 0) return -1;
    this.#bounds[bound] = body.length + this.#plainLength;
    this.#bounds[bound + 1] = body.length + plainEnd;
    this.#plainLength = plainEnd;
    return end;
  }

  #grow(): void {
    const bounds = new Int32Array(2 * this.#bounds.length);
    bounds.set(this.#bounds);
    this.#bounds = bounds;
  }
}
