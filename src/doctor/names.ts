import { originalName, type Collection } from '../collections/index.js';
import { JsonText, type JsonRecord } from '../json/index.js';

/** What the records of a list are told apart by, in order: their keys, or where these are missing all that they have. Never shown. */
export function namesOf(records: readonly JsonRecord[], { key, fields }: Collection): readonly string[] {
  const originals = key.map((column) => {
    const field = fields[column];
    return field ? originalName(column, field) : column;
  });
  return records.map((record) => {
    const values = originals.map((name) => textOf(record[name]));
    return values.includes('')
      ? JSON.stringify(Object.entries(record).map(([name, value]) => [name, textOf(value)]))
      : JSON.stringify(values);
  });
}

/** The share of the shorter list that the other one has, too; 0 where one is empty. */
export function overlapOf(one: readonly string[], other: readonly string[]): number {
  const [few, many] = one.length < other.length ? [one, other] : [other, one];
  if (few.length === 0) return 0;
  const known = new Set(many);
  return few.filter((name) => known.has(name)).length / few.length;
}

/** How the second read of a page differs from the first. */
export function changeOf(first: readonly string[], second: readonly string[]): 'same' | 'reordered' | 'changed' {
  if (first.length === second.length && first.every((name, index) => name === second[index])) return 'same';
  const [known, now] = [new Set(first), new Set(second)];
  const [before, after] = [first.filter((name) => now.has(name)), second.filter((name) => known.has(name))];
  // Rows that came or went move the others without changing their order.
  return before.every((name, index) => name === after[index]) && before.length > 0 ? 'changed' : 'reordered';
}

function textOf(value: JsonRecord[string] | undefined): string {
  return value instanceof JsonText ? value.text : (value ?? '');
}
