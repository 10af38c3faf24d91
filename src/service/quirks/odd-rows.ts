import { hashOfText } from '../../core/index.js';
import { collections, originalName, type CollectionName, type Field } from '../../collections/index.js';
import type { Responder } from '../answer.js';
import { Draw, purposes } from '../generate/random.js';

/** Changes a row of a collection, given as JSON text. */
type Oddity = (row: string, collection: CollectionName, draw: Draw) => string;

const noStrings: readonly unknown[] = [42, true, null, ['a', 1], { a: '1' }];

const oddities = {
  'missing-fields': (row, collection, draw) => withoutField(row, oneOf(freeFields(collection), draw)),
  'non-strings': (row, collection, draw) => withField(row, oneOf(freeFields(collection), draw), noStrings[draw.below(noStrings.length)]),
  'huge-values': (row, collection) => withField(row, longField(collection), 'x'.repeat(1 << 20)),
  'unknown-fields': (row) => withField(row, 'shoe size', '42'),
  'proto-key': (row) => `{"__proto__":{"polluted":"yes"}${row === '{}' ? '' : ','}${row.slice(1)}`,
} as const satisfies Readonly<Record<string, Oddity>>;

/** The share of rows that each oddity affects. */
export type OddShares = { readonly [N in keyof typeof oddities]?: number | undefined };

/**
 * Makes a share of the rows odd. The seed and the row itself determine which ones, so that a row looks the same whenever and wherever it is read.
 *
 * @returns `undefined` when no share is given.
 */
export function oddRows(shares: OddShares, seed: number): Responder | undefined {
  const active = Object.entries(oddities).flatMap(([name, change], index) => {
    const share = Object.entries(shares).find(([given]) => given === name)?.[1];
    return share === undefined ? [] : [{ change, share, draw: new Draw(seed, purposes.oddities + 100 * index) }];
  });
  if (active.length === 0) return undefined;

  function* odd(rows: Iterable<string>, collection: CollectionName): Generator<string> {
    for (const row of rows) {
      const place = hashOfText(row);
      yield active.reduce((text, { change, share, draw }) => {
        draw.seek(place);
        return draw.below(1e6) < share * 1e6 ? change(text, collection, draw) : text;
      }, row);
    }
  }
  return async (facts, next) => {
    const answer = await next(facts);
    return answer.kind === 'rows' ? { ...answer, rows: odd(answer.rows, facts.collection) } : answer;
  };
}

/** Returns the names of the fields that are not part of the key. */
function freeFields(name: CollectionName): readonly string[] {
  const { key, fields } = collections[name];
  return Object.entries<Field>(fields).flatMap(([column, field]) => (list(key).includes(column) ? [] : [originalName(column, field)]));
}

/** Returns the name of the last text field that is neither in the key nor secret, or else of the last field. */
function longField(name: CollectionName): string {
  const { fields } = collections[name];
  const texts = Object.entries<Field>(fields).filter(([, { type, sensitivity }]) => type === 'text' && sensitivity !== 'secret');
  const free = freeFields(name);
  const names = texts.map(([column, field]) => originalName(column, field)).filter((field) => free.includes(field));
  return names.at(-1) ?? free.at(-1) ?? '';
}

function withField(row: string, name: string, value: unknown): string {
  const entries = entriesOf(row);
  const at = entries.findIndex(([field]) => field === name);
  return textOf(at === -1 ? [...entries, [name, value]] : entries.with(at, [name, value]));
}

function withoutField(row: string, name: string): string {
  return textOf(entriesOf(row).filter(([field]) => field !== name));
}

function entriesOf(row: string): readonly [string, unknown][] {
  const value: unknown = JSON.parse(row);
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

function textOf(entries: readonly (readonly [string, unknown])[]): string {
  return JSON.stringify(Object.fromEntries(entries));
}

function oneOf(names: readonly string[], draw: Draw): string {
  return names[draw.below(names.length)] ?? '';
}

function list(key: readonly string[]): readonly string[] {
  return key;
}
