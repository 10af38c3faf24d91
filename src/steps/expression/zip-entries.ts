import { readFileSync } from 'node:fs';
import { LeadstreamError, nodeRequire } from '../../core/index.js';

/** What the package says of a code. */
export interface ZipEntry {
  readonly city: string;
  readonly state: string;
}

/** A form of codes. */
interface Form {
  /** How many numbers codes can have. */
  readonly numbers: number;
  /** The number of the code that stands in a text from a place on. */
  numberAt(text: string, at: number): number;
}

/**
 * The entries of a file of the package `zipcodes`, in its text as it is: `{"zip":"10001",…,"city":"New York","state":"NY",…}`, one
 * behind the other. All that is built is where they begin: that takes 5 ms, a table of their texts ten times that, and the package's own
 * module 200 ms and 90 MB. The version is pinned, and a test compares every code.
 *
 * Memory: the file (5 MB), and four bytes for each number of a code.
 */
export class ZipEntries {
  readonly #text: string;
  readonly #form: Form;
  /** Where the entry of a code begins, from 1, by the number of the code; 0 where there is none. */
  readonly #starts: Uint32Array;

  /** @throws {LeadstreamError} `E_RUN_FAILED` when the text has no entries. */
  constructor(text: string, form: Form) {
    this.#text = text;
    this.#form = form;
    this.#starts = new Uint32Array(form.numbers);
    let at = text.indexOf(opening);
    if (at < 0) throw new LeadstreamError('E_RUN_FAILED', 'the table of the package zipcodes has another form than expected');
    while (text.startsWith(opening, at)) {
      this.#starts[form.numberAt(text, at + opening.length)] = at + 1;
      at += shortest;
      while (at < text.length && text.charCodeAt(at) !== openingBrace) at += 1;
    }
  }

  /** @param code One of the form of these entries. */
  get(code: string): ZipEntry | undefined {
    const start = this.#starts[this.#form.numberAt(code, 0)];
    if (!start) return undefined;
    const entry = this.#text.slice(start, this.#text.indexOf('}', start));
    const [, city = '', state = ''] = /"city":"([^"]*)","state":"([^"]*)"/.exec(entry) ?? [];
    return { city, state };
  }
}

const opening = '{"zip":"';
const openingBrace = 0x7b;
/** No entry has fewer characters. */
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

/** Those of US zipcodes, read at the first call. */
export function usEntries(): ZipEntries {
  us ??= new ZipEntries(textOf('zipcodes/lib/codes.js'), usForm);
  return us;
}

/** Those of Canadian sorting areas, read at the first call. */
export function canadianEntries(): ZipEntries {
  canadian ??= new ZipEntries(textOf('zipcodes/lib/codesCanada.js'), canadianForm);
  return canadian;
}

function textOf(file: string): string {
  return readFileSync(nodeRequire().resolve(file), 'utf8');
}
