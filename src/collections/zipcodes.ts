import { readFileSync } from 'node:fs';
import { LeadstreamError, nodeRequire } from '../core/index.js';

/** The place of a US zipcode, or of the first three characters of a Canadian postal code. */
export interface Place {
  readonly city: string;
  /** Two-letter code of a US state or territory or a Canadian province. */
  readonly state: string;
}

export function zipPlaces(): readonly (readonly [code: string, place: Place])[] {
  const { text } = (table ??= readTable());
  return Array.from(text.matchAll(/\{"zip":"(\w+)/g), ({ index, 1: code = '' }) => [code, placeIn(text, index, code)]);
}

export function placeOfCode(code: string): Place | undefined {
  const { text, starts, places } = (table ??= readTable());
  const slot = slotOf(code);
  const start = starts[slot] ?? 0;
  return start > 0 && text.startsWith(code, start + opening.length) ? (places[slot] ??= placeIn(text, start, code)) : undefined;
}

/** The package's provinces have gaps, so they are not used. */
function placeIn(text: string, start: number, code: string): Place {
  const valueOf = (name: string) => {
    const from = text.indexOf(`"${name}":"`, start) + name.length + 4;
    return text.slice(from, text.indexOf('"', from));
  };
  return { city: valueOf('city'), state: (code.length === 3 && provinceOf(code)) || valueOf('state') };
}

let table: ReturnType<typeof readTable> | undefined;

const opening = '{"zip":"';

/** Reads the package's files of entries as text in 15 ms and 7 MB; its own module takes 200 ms and 90 MB. The version is pinned. */
function readTable() {
  const read = (name: string, encoding: 'latin1' | 'utf8') => readFileSync(nodeRequire().resolve(`zipcodes/lib/${name}.js`), encoding);
  // Only the names of Canada are not ASCII.
  const text = read('codes', 'latin1') + read('codesCanada', 'utf8');
  /** Where an entry begins, by the slot of its code. */
  const starts = new Int32Array(slots);
  for (let at = text.indexOf(opening); at >= 0; at = text.indexOf(opening, at + 1))
    starts[slotOf(text.slice(at + opening.length, text.indexOf('"', at + opening.length)))] = at;
  if (!starts.some((start) => start > 0))
    throw new LeadstreamError('E_RUN_FAILED', 'the table in the package zipcodes does not have the expected form');
  return { text, starts, places: new Array<Place | undefined>(slots) };
}

const slots = 100_000 + 36 ** 3;

/** Returns a number that belongs to at most one code of five digits, or of three digits and letters. A `Map` of so many takes five times as long. */
function slotOf(code: string): number {
  return code.length === 5 ? Number(code) : 100_000 + Number.parseInt(code, 36);
}

/** Returns the two-letter code of the Canadian province or territory of a postal code (Canada Post); `undefined` for other texts. */
function provinceOf(postalCode: string): string | undefined {
  return /^X0[ABC]/.test(postalCode) ? 'NU' : provinces.get(postalCode.charAt(0));
}

/** Nunavut shares its letter with the Northwest Territories, and has three of its sorting areas. */
const letters = { NL: 'A', NS: 'B', PE: 'C', NB: 'E', QC: 'GHJ', ON: 'KLMNP', MB: 'R', SK: 'S', AB: 'T', BC: 'V', NT: 'X', YT: 'Y' };
const provinces = new Map(Object.entries(letters).flatMap(([code, own]) => [...own].map((letter) => [letter, code] as const)));
