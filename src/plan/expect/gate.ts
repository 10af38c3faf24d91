import type { z } from 'zod';
import { schema, type Column, type Zod } from '../../core/index.js';
import type { Published } from '../../lake/index.js';
import type { RecordBatch } from '../../vector/index.js';

/** A gate of `expect` as it appears in files. */
export interface GateDefinition<N extends string, V> {
  readonly name: N;
  readonly schema: (z: Zod) => z.ZodType<V | undefined>;
  /** Returns the gate as a file sets it, if it does. */
  readonly setIn: (expect: { readonly [K in N]?: V | undefined }) => ExpectGate | undefined;
}

/** A gate that a file sets, with its key below `expect`. */
export type ExpectGate = GateFacts & { readonly name: string };

/** The properties of a gate. */
export type GateFacts = RowsGate | OutputsGate | ListsGate;

/** Judges the rows that leave the last step. */
export interface RowsGate {
  readonly judges: 'rows';
  /** Description of what it holds in memory besides counts; `undefined` if nothing. */
  readonly holds: string | undefined;
  /** The columns that it names. */
  readonly columns: readonly NamedColumn[];
  /** Creates its checks for a run. @param columns Those that leave the last step. */
  readonly open: (columns: readonly Column[]) => readonly Check[];
}

/** Compares what a run writes with what the last one wrote. */
export interface OutputsGate {
  readonly judges: 'outputs';
  /** Whether `--allow-shrink` overrides a refusal once. */
  readonly overridable: boolean;
  /** Describes why it refuses an output, if it does. */
  readonly refuse: (output: Measured) => string | undefined;
}

/** Compares what a run reads with what the last one read. It applies even if it is not set, so `shrinkGates` evaluates it. */
export interface ListsGate {
  readonly judges: 'lists';
  /** The collections that it names. */
  readonly lists: readonly string[];
}

/** A column named by a gate. */
export interface NamedColumn {
  readonly name: string;
  /** Path below the key of the gate. */
  readonly path: readonly (string | number)[];
  /** Whether the name is the key at the path, rather than the value. */
  readonly onKey: boolean;
}

/** A single check of the rows: it counts, and may refuse the result. */
export interface Check {
  /** Name in files and reports, below `expect`. */
  readonly gate: string;
  observe(batch: RecordBatch): void;
  /** Describes why it refuses the rows, if it does. @param rows Number of all rows seen. */
  refuse(rows: number): string | undefined;
}

/** The size of an output, now and in the last run. */
export interface Measured {
  readonly at: string;
  /** Rows that it will contain. */
  readonly total: number;
  readonly earlier: Pick<Published, 'rows'> | undefined;
  /** Whether it may shrink this once. Default `false`. */
  readonly mayShrink?: boolean;
}

/** Declares a gate of `expect`. @param set Returns the properties of the gate for a value. */
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

/** Returns the columns that are the keys of a value. */
export function columnsByKey(value: Readonly<Record<string, unknown>>): readonly NamedColumn[] {
  return Object.keys(value).map((name) => ({ name, path: [name], onKey: true }));
}
