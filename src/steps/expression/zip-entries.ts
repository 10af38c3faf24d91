import { readFileSync } from 'node:fs';
import { LeadstreamError, nodeRequire } from '../../core/index.js';

/** What the package contains for a code. */
export interface ZipEntry {
  readonly city: string;
  readonly state: string;
}

/** A format of codes. */
interface Form {
  /** How many numbers codes can have. */
  readonly numbers: number;
  /** Returns the number of the code at an offset in a text. */
  numberAt(text: string, at: number): number;
}

/**
 * The entries of a file of the package `zipcodes`, in its original text: `{"zip":"10001",…,"city":"New York","state":"NY",…}`, one after the other.
 * Only their offsets are indexed. That takes 5 ms; a table of the texts would take ten times as long, and the package's own module 200 ms and 90 MB.
 * The version is pinned, and a test compares every code.
 *
 * Memory: the file (5 MB), and four bytes for each possible code.
 */
export class ZipEntries {
  readonly #text: string;
  readonly #form: Form;
  /** Offset of the entry of each code, from 1, by the number of the code; 0 if there is none. */
  readonly #starts: Uint32Array;

  /** @throws {LeadstreamError} `E_RUN_FAILED` when the text contains no entries. */
  constructor(text: string, form: Form) {
    this.#text = text;
    this.#form = form;
    this.#starts = new Uint32Array(form.numbers);
    let at = text.indexOf(opening);
    if (at < 0) throw new LeadstreamError('E_RUN_FAILED', 'the table in the package zipcodes does not have the expected form');
    for (; at >= 0; at = text.indexOf(opening, at + shortest)) this.#starts[form.numberAt(text, at + opening.length)] = at + 1;
  }

  /** @param code A code in the format of these entries. */
  get(code: string): ZipEntry | undefined {
    const start = this.#starts[this.#form.numberAt(code, 0)];
    if (!start) return undefined;
    const city = this.#valueBehind('"city":"', start);
    return { city, state: this.#valueBehind('"state":"', start) };
  }

  /** Returns the value of a field of the entry at an offset; every entry has all fields. */
  #valueBehind(name: string, start: number): string {
    const from = this.#text.indexOf(name, start) + name.length;
    return this.#text.slice(from, this.#text.indexOf('"', from));
  }
}

const opening = '{"zip":"';
/** Minimum length of an entry in characters. */
const shortest = 80;

const [zero, letterA] = [0x30, 0x41];

/** Five digits. */
const usForm: Form = {
  numbers: 100_000,
  numberAt: (text, at) => {
    let number = 0;
    for (let index = at; index < at + 5; index += 1) number = 10 * number + text.charCodeAt(index) - zero;
    return number;
  },
};

/** A letter, a digit, a letter. */
const canadianForm: Form = {
  numbers: 26 * 10 * 26,
  numberAt: (text, at) => 26 * (10 * (text.charCodeAt(at) - letterA) + text.charCodeAt(at + 1) - zero) + text.charCodeAt(at + 2) - letterA,
};

let us: ZipEntries | undefined;
let canadian: ZipEntries | undefined;

/** Returns the entries of US zipcodes, read at the first call. */
export function usEntries(): ZipEntries {
  us ??= new ZipEntries(textOf('zipcodes/lib/codes.js', 'latin1'), usForm);
  return us;
}

/** Returns the entries of Canadian sorting areas, read at the first call. */
export function canadianEntries(): ZipEntries {
  canadian ??= new ZipEntries(textOf('zipcodes/lib/codesCanada.js', 'utf8'), canadianForm);
  return canadian;
}

/** @param encoding The US file is pure ASCII, and reading it as Latin-1 takes a third of the time. */
function textOf(file: string, encoding: 'latin1' | 'utf8'): string {
  return readFileSync(nodeRequire().resolve(file), encoding);
}
