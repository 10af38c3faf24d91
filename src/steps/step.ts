import type { Observable } from 'rxjs';
import type { z } from 'zod';
import type { Collection, Registry } from '../collections/index.js';
import { schema, type Column, type Row, type Violation, type Warning, type Zod } from '../core/index.js';
import type { ColumnsContext, ConfigPath, OnError, Page, Step, StepContext, Tally } from '../flow/index.js';

/** What a step can ask while a file is checked, before any request. */
export interface PlanContext extends ColumnsContext {
  /** The collection that the chain starts from. */
  readonly collection: Collection;
  /** What other collections there are. */
  readonly collections: Registry;
  /** Key of `mask: hmac`; where the property is absent, keys are not judged. */
  readonly hmacKey?: string | undefined;
  /** Reports a variable that the step needs and the environment lacks, by its name; `message` says so. */
  unset(path: ConfigPath, variable: string, message: string): void;
  /** Reports something of the file that is right and probably not meant. */
  warn(path: ConfigPath, warning: Warning): void;
}

/** What a step gets to run in a pipeline. */
export interface StepRuntime extends StepContext {
  readonly collection: Collection;
  readonly collections: Registry;
  /** Columns that arrive at the step. */
  readonly input: readonly Column[];
  readonly onError: OnError;
  /** Whether no two of the rows that arrive have the same key of the collection, since the read was checked. Default: not known. */
  readonly distinct?: boolean;
  /** When the run was first started, also after a resume: the only clock of expressions. */
  readonly firstStart: Date;
  /** Key of `mask: hmac`. */
  readonly hmacKey: string | undefined;
  /** Private folder for what does not fit into memory; made when it is needed. */
  readonly scratch: string;
  /** Pages of another collection, with some of its secret columns if wanted. */
  read(collection: Collection, reveal: readonly string[]): Observable<Page>;
  /** Single records of another collection, with some of its secret columns if wanted. */
  lookup(collection: Collection, reveal: readonly string[]): Lookup;
}

/** Single records of a collection, by what identifies them in a path. */
export interface Lookup {
  /** The records with an identifier: none, one, or several. Cold: each subscription is one request with its retries. */
  find(id: string): Observable<readonly Row[]>;
  /** Requests that may be under way at once. */
  readonly concurrency: number;
  /** What the step counts, for the report. */
  readonly counts: LookupCounts;
}

/** How rows were looked up. */
export interface LookupCounts {
  /** Identifiers that the service was asked for. */
  requests: number;
  /** Rows whose identifier was known by then. */
  hits: number;
  /** Of the identifiers asked for, those without a record. */
  misses: number;
}

/** Something that a step did which can be right and seldom is. */
export type StepRemark = Warning & { readonly code: 'W_STEP_EMPTY' | 'W_STEP_NO_MATCH' };

/** What a step's own gate found. */
export interface StepGate {
  /** The key that sets it. */
  readonly gate: string;
  /** What it has against publishing. */
  readonly violation: (Violation & { readonly code: 'E_GATE_MATCH' }) | undefined;
}

/** How a join finds the rows of the other side. */
export interface JoinedOn {
  readonly with: string;
  /** Right field by left field. */
  readonly on: Readonly<Record<string, string>>;
  /** What is done with texts before they are compared. Default: nothing. */
  readonly normalize: ((text: string) => string) | undefined;
  /** Which of several matches is taken, in words. */
  readonly pick: string;
}

/** A part of the condition of a step. */
export interface RowCondition {
  /** As the file has it. */
  readonly expression: string;
  /** What it gives for a row; `null` for a part that fails, too. */
  readonly value: boolean | null;
  /** Why it fails, in words; `undefined` when it does not. */
  readonly problem: string | undefined;
}

/** A step as pipeline files know it. */
export interface StepDefinition<N extends string = string, C = unknown> {
  readonly name: N;
  readonly summary: string;
  /** Of a step of somebody's own, what its author calls its version; part of the fingerprint. Others have none. */
  readonly version?: string | undefined;
  /** Whether `config` takes numbers, flags and `null` as such, and not as the texts that a file has. Default `false`. */
  readonly takesTyped?: boolean | undefined;
  /** Schema of the configuration. */
  readonly config: () => z.ZodType<C>;
  /** Configurations that are valid for a chain of leads; they stand in the reference and are checked by a test. */
  readonly examples: readonly unknown[];
  /** Whether it takes all rows before it gives the first. Such a step releases the pages that it takes. Default false. */
  readonly blocking?: boolean;
  /** Most rows that leave it. A step that has this stops the source then, unless a blocking one stands before it. */
  most?(config: C): number;
  /** Whether more rows can leave it than come. Default false. */
  addsRows?(config: C): boolean;
  /** Whether every row that leaves it is one that came, as it was, and none twice. Default false. */
  readonly keepsRows?: boolean;
  /** The columns that leave the step. */
  columns(config: C, input: readonly Column[], plan: PlanContext): readonly Column[];
  /** The other collection that it reads to its end. */
  reads?(config: C): string | undefined;
  /** What it holds in memory beyond a page, in words. Default: nothing. */
  holds?(config: C): string;
  /** What a row that passes it alone does not show, in words that follow its name. Default: it treats every row by itself. */
  readonly alone?: string;
  /** The expressions that it evaluates, as the file has them. */
  expressions?(config: C): readonly string[];
  /** What the parts of its condition give for a row, where it has a condition that has parts. */
  conditions?(config: C, runtime: Pick<StepRuntime, 'input' | 'firstStart'>, row: Row): readonly RowCondition[];
  /** How it joins. */
  joins?(config: C): JoinedOn;
  open(config: C, runtime: StepRuntime): Step;
  /** What the step's own gate finds, judged by its tally; `undefined` where none is set. */
  gate?(config: C, tally: Tally): StepGate | undefined;
  /**
   * What is remarkable in its tally and no failure.
   *
   * @param arrived Rows that came.
   */
  remark?(config: C, tally: Tally, arrived: number): StepRemark | undefined;
}

/** A step as it is declared: its schema is built when somebody asks. */
interface Declaration<C> extends Omit<StepDefinition<string, C>, 'name' | 'config'> {
  config(z: Zod): z.ZodType<C>;
}

/** Declares a step for pipeline files. */
export function defineStep<const N extends string, C>(name: N, declaration: Declaration<C>): StepDefinition<N, C> {
  return { name, ...declaration, config: schema((z) => declaration.config(z)) };
}
