import { originalName, type Collection } from '../collections/index.js';
import { JsonText, type JsonRecord } from '../json/index.js';

/** Returns what identifies the records of a list, in order: their keys, or all their values if the keys are missing. Never shown. */
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

/** Returns the share of the shorter list that is also in the other one; 0 if one is empty. */
export function overlapOf(one: readonly string[], other: readonly string[]): number {
  const [few, many] = one.length < other.length ? [one, other] : [other, one];
  if (few.length === 0) return 0;
  const known = new Set(many);
  return few.filter((name) => known.has(name)).length / few.length;
}

/** Compares two reads of a page. */
export function changeOf(first: readonly string[], second: readonly string[]): 'same' | 'reordered' | 'changed' {
  if (first.length === second.length && first.every((name, index) => name === second[index])) return 'same';
  const [known, now] = [new Set(first), new Set(second)];
  const [before, after] = [first.filter((name) => now.has(name)), second.filter((name) => known.has(name))];
  // Rows that were added or removed move the others without changing their order.
  return before.every((name, index) => name === after[index]) && before.length > 0 ? 'changed' : 'reordered';
}

function textOf(value: JsonRecord[string] | undefined): string {
  return value instanceof JsonText ? value.text : (value ?? '');
}
