import { nearest } from './nearest.js';

/** Returns the known name that another spelling (`first_page` for `firstPage`) or a near miss refers to. */
export function meant(name: string, known: readonly string[]): string | undefined {
  const word = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  if (word === '') return undefined;
  const elsewhere = known.find((candidate) => Object.hasOwn(otherWords, candidate) && otherWords[candidate]?.includes(word));
  return (
    elsewhere ??
    known.find((candidate) => word.length > 2 && candidate.toLowerCase().startsWith(word)) ??
    nearest(name, known) ??
    nearest(word, known)
  );
}

/** Other tools' words for the names used here, in lower-case letters and digits. */
const otherWords: Readonly<Record<string, readonly string[]>> = {
  from: ['source', 'input', 'collection', 'extract'],
  to: ['sink', 'sinks', 'output', 'outputs', 'destination', 'destinations', 'load'],
  steps: ['transform', 'transforms', 'pipeline', 'processors'],
  expect: ['gates', 'checks', 'assert', 'quality'],
  dedupe: ['deduplicate', 'distinct', 'unique', 'dropduplicates'],
  filter: ['where', 'having'],
  derive: ['compute', 'addfields', 'addcolumns', 'withcolumns', 'map', 'extend', 'mutate'],
  select: ['columns', 'keep', 'project', 'pick'],
  aggregate: ['groupby', 'group', 'summarize', 'summarise'],
  sort: ['orderby', 'order'],
  limit: ['head', 'take', 'first'],
  explode: ['unnest', 'flatten'],
  join: ['merge', 'lookup', 'enrich'],
  ndjson: ['json', 'jsonl', 'jsonlines'],
  stdout: ['print', 'console'],
};

/** Describes an unknown name, with the nearest known one or all of them. */
export function unknownName(kind: string, name: string, known: readonly string[]): string {
  const unknown = `unknown ${kind} '${name}'`;
  if (known.length === 0) return unknown;
  const near = meant(name, known);
  return near === undefined ? `${unknown}; there are ${known.join(', ')}` : `${unknown}, did you mean '${near}'?`;
}

/** Returns the end of a message about an unknown value: the nearest known one, if any. */
export function hintAt(value: unknown, known: readonly string[]): string {
  const near = typeof value === 'string' ? meant(value, known) : undefined;
  return near === undefined ? '' : `; did you mean '${near}'?`;
}
