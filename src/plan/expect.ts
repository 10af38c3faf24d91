import type { z } from 'zod';
import { didYouMean, schema, type Column } from '../core/index.js';
import type { Problem } from './references.js';
import { acceptedValues } from './expect/accepted-values.js';
import { maxGrowth, maxShrink } from './expect/change.js';
import type { ExpectGate, NamedColumn } from './expect/gate.js';
import { maxReadShrink } from './expect/max-read-shrink.js';
import { minRows } from './expect/min-rows.js';
import { maxNull, notNull } from './expect/nulls.js';
import { unique } from './expect/unique.js';

/** The gates of `expect`, in the order of the reference and of results. */
const gates = [minRows, maxShrink, maxGrowth, maxReadShrink, maxNull, notNull, unique, acceptedValues] as const;

type Gate = (typeof gates)[number];

/** The expectations of a pipeline about its rows before it publishes them. */
export type Expect = { readonly [G in Gate as G['name']]?: z.output<ReturnType<G['schema']>> };

/** The schema of `expect`: conditions on the rows that leave the last step, without which nothing is published. */
export const expectShape = schema((z): z.ZodType<Expect> =>
  z.strictObject(Object.fromEntries(gates.map((gate) => [gate.name, gate.schema(z)]))),
);

/** Returns the gates that are set. */
export function gatesIn(expect: Expect = {}): readonly ExpectGate[] {
  return gates.flatMap((gate) => gate.setIn(expect) ?? []);
}

/** What is known about the columns that leave the last step. */
interface Leaving {
  readonly columns: readonly Column[];
  /** The step that dropped a column, by column. */
  readonly gone?: ReadonlyMap<string, string>;
}

/** Reports the lists of `expect` that are not read; paths start at `expect`. */
export function checkLists(expect: Expect, read: readonly string[], problem: Problem): void {
  for (const gate of gatesIn(expect)) {
    const unread = gate.judges === 'lists' ? gate.lists.filter((name) => !read.includes(name)) : [];
    for (const name of unread) {
      const hint = didYouMean(name, read) || `; this pipeline reads ${read.join(', ')}`;
      problem(['expect', gate.name, name], `${name} is not read here${hint}`, true);
    }
  }
}

/** Reports columns named by `expect` that do not leave the last step; paths start at `expect`. */
export function checkExpect(expect: Expect, { columns, gone }: Leaving, problem: Problem): void {
  const known = columns.map(({ name }) => name);
  const require = (gate: string, { name, path, onKey }: NamedColumn) => {
    if (known.includes(name)) return;
    const step = gone?.get(name);
    const hint = step === undefined ? didYouMean(name, known) : `: ${step} does not pass it on`;
    problem(['expect', gate, ...path], `there is no column '${name}' after the last step${hint}`, onKey);
  };
  for (const gate of gatesIn(expect)) if (gate.judges === 'rows') for (const column of gate.columns) require(gate.name, column);
}
