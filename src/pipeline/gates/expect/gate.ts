import type { z } from 'zod';
import { schema, type Column, type Zod } from '../../../core/index.js';
import type { Published } from '../../../lake/index.js';
import type { RecordBatch } from '../../../vector/index.js';

/** A gate of `expect` as files know it. */
export interface GateDefinition<N extends string, V> {
  readonly name: N;
  readonly schema: (z: Zod) => z.ZodType<V | undefined>;
  /** The gate as a file sets it, if it does. */
  readonly setIn: (expect: { readonly [K in N]?: V | undefined }) => ExpectGate | undefined;
}

/** A gate that a file sets, with its key below `expect`. */
export type ExpectGate = GateFacts & { readonly name: string };

/** What a gate says of itself. */
export type GateFacts = RowsGate | OutputsGate | ListsGate;

/** Judges the rows that leave the last step. */
export interface RowsGate {
  readonly judges: 'rows';
  /** How many rows it needs at least. */
  readonly fewest: number;
  /** What it holds in memory besides counts, in words; `undefined` when that is nothing. */
  readonly holds: string | undefined;
  /** The columns that it names. */
  readonly columns: readonly NamedColumn[];
  /** Opens what it checks in a run. @param columns Those that leave the last step. */
  readonly open: (columns: readonly Column[]) => readonly Check[];
}

/** Compares what a run writes with what the last one wrote. */
export interface OutputsGate {
  readonly judges: 'outputs';
  /** Whether `--allow-shrink` publishes what it refuses, once. */
  readonly overridable: boolean;
  /** What it has against an output, if anything. */
  readonly refuse: (output: Measured) => string | undefined;
}

/** Compares what a run reads with what the last one read. It is there without being set, too, so `shrinkGates` judges by it. */
export interface ListsGate {
  readonly judges: 'lists';
  /** The collections that it names. */
  readonly lists: readonly string[];
}

/** A column, where a gate names it. */
export interface NamedColumn {
  readonly name: string;
  /** Below the key of the gate. */
  readonly path: readonly (string | number)[];
  /** Whether the name is the key at the path, and not the value. */
  readonly onKey: boolean;
}

/** One thing that is checked of the rows: what it counts, and what it has against the result, if anything. */
export interface Check {
  /** Name in files and reports, below `expect`. */
  readonly gate: string;
  /** Whether what it has against some rows holds whatever other rows there are, so that a row can be judged alone. */
  readonly alone: boolean;
  observe(batch: RecordBatch): void;
  /** @param rows All rows that were seen. */
  refuse(rows: number): string | undefined;
}

/** An output, and what is known of the last run's. */
export interface Measured {
  readonly at: string;
  /** Rows that it will hold. */
  readonly total: number;
  readonly earlier: Pick<Published, 'rows'> | undefined;
  /** Whether it may shrink this once. Default false. */
  readonly mayShrink?: boolean;
}

/** Declares a gate of `expect`. @param set What the gate says of itself with a value. */
export function defineGate<const N extends string, V>(
  name: N,
  { schema: shape, set }: { readonly schema: (z: Zod) => z.ZodType<V | undefined>; readonly set: (value: V) => GateFacts },
): GateDefinition<N, V> {
  return {
    name,
    schema: shape,
    setIn: (expect) => {
      const value = expect[name];
      return value === undefined ? undefined : { name, ...set(value) };
    },
  };
}

/** The name of a column, or of a list. */
export const someName = schema((z) => z.string().min(1));

/** The columns that are the keys of a value. */
export function columnsByKey(value: Readonly<Record<string, unknown>>): readonly NamedColumn[] {
  return Object.keys(value).map((name) => ({ name, path: [name], onKey: true }));
}
