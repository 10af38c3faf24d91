import { readFileSync } from 'node:fs';
import { provinceOf } from '../../collections/index.js';
import { LeadstreamError, nodeRequire } from '../../core/index.js';

/**
 * Returns the city of a US or Canadian zipcode, like `zip_city` in pipeline files.
 *
 * Memory: 5 MB for the table of the package `zipcodes`, which is read at the first call; a bundle needs that package next to it.
 *
 * @param zip For example `10001`, `10001-1234`, `K1A` or `K1A 0B1`.
 * @returns `null` for `null`, and for an unknown code or another form.
 *
 * @example
 * service.leads.pipe(derive({ zip_city: ({ zipcode }) => zipCity(zipcode), zip_state: ({ zipcode }) => zipState(zipcode) }));
 * // { zipcode: '10001' }  ->  { zipcode: '10001', zip_city: 'New York', zip_state: 'NY' }
 */
export function zipCity(zip: string | null | undefined): string | null {
  return placeOf(zip ?? '')?.city ?? null;
}

/**
 * Returns the two-letter code of the state or province of a US or Canadian zipcode, like `zip_state` in pipeline files.
 *
 * @param zip As in `zipCity`.
 * @returns `null` for `null`, and for an unknown code or another form.
 *
 * @example
 * zipState('K1A 0B1'); // 'ON'
 */
export function zipState(zip: string | null | undefined): string | null {
  return placeOf(zip ?? '')?.state ?? null;
}

/** Returns the sorting area of a US or Canadian zipcode: its first three characters. */
export function zipPrefix(zip: string): string | null {
  return normalizedZip(zip)?.slice(0, 3) ?? null;
}

/** Returns the first three of the ten digits of a phone number, after an optional country code 1. */
export function areaCode(phone: string): string | null {
  return /^1?([2-9]\d{2})\d{7}$/.exec(phone.replace(/[\s().+-]/g, ''))?.[1] ?? null;
}

interface Place {
  readonly city: string;
  /** Two-letter code of a US state or territory or a Canadian province. */
  readonly state: string;
}

const known = new Map<string, Place>();

/** Returns the place of a zipcode. Nothing is guessed, not even a lost leading zero. The package's provinces have gaps and are not used. */
export function placeOf(zipcode: string): Place | undefined {
  // Most zipcodes have the form of the table.
  const code = known.has(zipcode) ? zipcode : normalizedZip(zipcode);
  const place = code === undefined ? undefined : (known.get(code) ?? lookUp(code));
  if (code !== undefined && place) known.set(code, place);
  return place;
}

/** Returns the part of a zipcode that identifies a place: five digits, or the three characters of a Canadian sorting area. */
function normalizedZip(zipcode: string): string | undefined {
  const text = zipcode.trim();
  const digits = /^(\d{5})(?:-?\d{4})?$/.exec(text);
  if (digits) return digits[1];
  return /^([A-Za-z]\d[A-Za-z])(?: ?\d[A-Za-z]\d)?$/.exec(text)?.[1]?.toUpperCase();
}

let us: ReturnType<typeof readTable> | undefined;
let canada: typeof us;

function lookUp(code: string): Place | undefined {
  const { text, starts } = code.length === 5 ? (us ??= readTable('codes')) : (canada ??= readTable('codesCanada'));
  const start = starts.get(code);
  if (start === undefined) return undefined;
  const valueOf = (name: string) => {
    const from = text.indexOf(`"${name}":"`, start) + name.length + 4;
    return text.slice(from, text.indexOf('"', from));
  };
  return { city: valueOf('city'), state: provinceOf(code) ?? valueOf('state') };
}

const opening = '{"zip":"';

/** Reads a file of entries as text: in 20 ms and 7 MB, where the package's own module takes 200 ms and 90 MB. The version is pinned. */
function readTable(name: string) {
  const text = readFileSync(nodeRequire().resolve(`zipcodes/lib/${name}.js`), 'utf8');
  const starts = new Map<string, number>();
  for (let at = text.indexOf(opening); at >= 0; at = text.indexOf(opening, at + 1))
    starts.set(text.slice(at + opening.length, text.indexOf('"', at + opening.length)), at);
  if (starts.size === 0) throw new LeadstreamError('E_RUN_FAILED', 'the table in the package zipcodes does not have the expected form');
  return { text, starts };
}
