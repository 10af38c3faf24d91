import { identity, pipe, type Observable } from 'rxjs';
import type { z } from 'zod';
import type { Collection, Registry } from '../collections/index.js';
import { amountOf, schema, snakeCase, type Zod } from '../core/index.js';
import type { Column, OnDuplicateKey, Row, Violation, Warning } from '../core/index.js';
import { countedStep } from '../flow/index.js';
import type { ColumnsContext, ConfigPath, OnError, Page, Step, StepContext, Tally } from '../flow/index.js';
import type { Queries } from '../engine/index.js';
import { checkArguments, type EntryDefinition } from '../options/index.js';
import { requireFields } from './fields.js';

/** What a step can use while columns are followed; in a file, before any request, with what the file has. */
export interface PlanContext extends ColumnsContext {
  readonly collection?: Collection;
  readonly collections?: Registry;
  readonly queries?: Queries;
  /** Key of `mask: hmac`; without the property, keys are not checked. */
  readonly hmacKey?: string | undefined;
  /** Whether only the end of the list is read. */
  readonly isSince?: boolean;
  /** Reports a variable that the step needs and the environment lacks; `message` explains it. */
  unset?(path: ConfigPath, variable: string, message: string): void;
  /** Reports what is valid but probably not intended. */
  warn?(path: ConfigPath, warning: Warning): void;
  /** Says what is as intended for many, but may surprise; it never fails a file. */
  note?(path: ConfigPath, sentence: string): void;
}

/** What a step gets to run. Programs have only the context. */
export interface StepRuntime extends StepContext {
  readonly collection?: Collection;
  readonly collections?: Registry;
  readonly input?: readonly Column[];
  readonly onError?: OnError;
  /** Whether arriving rows are unique by the collection's key, as the read verified. Default: unknown. */
  readonly distinct?: boolean;
  /** When the run was first started, also after a resume: the only clock of expressions. */
  readonly firstStart?: Date;
  readonly hmacKey?: string | undefined;
  /** Private folder for data beyond memory, created when needed. */
  readonly scratch?: string | undefined;
  /** Reads another collection's pages, with its requested secret columns. @param used The fields that the step needs. Default: all that are declared. */
  read?(collection: Collection, reveal: readonly string[], onDuplicateKey?: OnDuplicateKey, used?: readonly string[]): Observable<Page>;
  lookup?(collection: Collection, reveal: readonly string[]): Lookup;
}

/** Access to a collection's records by the identifier in their paths. */
export interface Lookup {
  /** Returns the records with an identifier: none, one, or several. Cold: a subscription is one request with its retries. */
  find(id: string): Observable<readonly Row[]>;
  readonly concurrency: number;
  readonly counts: LookupCounts;
}

export interface LookupCounts {
  requests: number;
  /** Rows whose identifier was already known. */
  hits: number;
  misses: number;
}

export type StepRemark = Warning & { readonly code: 'W_STEP_EMPTY' | 'W_STEP_NO_MATCH' };

/** A step, defined once for files and programs. */
export interface StepDefinition<N extends string = string, C = unknown> extends EntryDefinition<N, C> {
  /** Whether it takes all rows, and releases their pages, before it returns the first. Default false. */
  readonly blocking?: boolean;
  /** Maximum number of rows that leave it. Then it stops the source, unless a blocking step precedes it. */
  most?(config: C): number;
  /** Whether rows leave unchanged, and none leaves twice. Default false. */
  readonly keepsRows?: boolean;
  /** Returns the definition for a configuration with which the step works in another way; it has the same options and columns. */
  variant?(config: C): StepDefinition<string, C> | undefined;
  /** Finds out what `columns` needs and has to be awaited. */
  prepare?(config: C, input: readonly Column[], queries: Queries): Promise<void>;
  /** Returns `undefined` after a problem that leaves them unknown. */
  columns(config: C, input: readonly Column[], plan: PlanContext): readonly Column[] | undefined;
  /** Returns the name of the other collection, which it reads completely. */
  reads?(config: C): string | undefined;
  open(config: C, runtime: StepRuntime): Step;
  /** Returns the result of the step's own gate by its tally; `undefined` without a gate. */
  gate?(config: C, tally: Tally): { readonly gate: string; readonly violation: Violation | undefined } | undefined;
  /** Returns a warning about its tally. @param arrived Rows that arrived. */
  remark?(config: C, tally: Tally, arrived: number): StepRemark | undefined;
}

interface Declaration<C> extends Omit<StepDefinition<string, C>, 'name' | 'config'> {
  config(z: Zod): z.ZodType<C>;
}

export function builtInStep<const N extends string, C>(name: N, declared: Declaration<C>): StepDefinition<N, C> {
  return { name, ...declared, config: schema((z) => declared.config(z)) };
}

/** Checks what a program passes against a schema in snake_case. @throws {StepError} `E_STEP_CONFIG`. */
export function checkedConfig<C>(
  { name, config }: Pick<StepDefinition<string, C>, 'name' | 'config'>,
  given: unknown,
  options: object,
  context?: StepContext,
): C {
  const named = (Object.entries(options) as [string, unknown][]).map(([key, value]) => [snakeCase(key), value] as const);
  const all = typeof given === 'object' && !Array.isArray(given) ? { ...given, ...Object.fromEntries(named) } : given;
  return checkArguments(context?.at ?? name, config, all);
}

/**
 * Makes the operator of a step for programs.
 * @param fields The fields that it needs: the stream fails if no row of a page has one of them.
 * @param context Counts and takes rejects for all reads. Default: one per read.
 */
export function stepOf<C, In, Out>(
  definition: StepDefinition<string, C>,
  config: C,
  fields: readonly string[],
  context?: StepContext,
  more: Omit<StepRuntime, keyof StepContext> = {},
): Step<In, Out> {
  const { name, blocking, open } = definition.variant?.(config) ?? definition;
  // The types of rows follow from the configuration, but the type system cannot follow the columns.
  const made = (counted: StepContext) =>
    pipe(fields.length > 0 ? requireFields(counted.at, fields) : identity, open(config, { ...counted, ...more })) as Step<
      never,
      unknown
    > as Step<In, Out>;
  const columns = (input: readonly Column[], plan: ColumnsContext) => definition.columns(config, input, plan);
  return countedStep({ at: context?.at ?? name, columns, blocking }, made, context);
}

/** Warns about a step that dropped every row it received. */
export function nothingKept({ filtered, rejected }: Tally, arrived: number): StepRemark | undefined {
  return filtered > 0 && filtered + rejected === arrived
    ? { code: 'W_STEP_EMPTY', message: `none of ${amountOf(arrived, 'row')} is kept; expect.min_rows refuses that` }
    : undefined;
}
