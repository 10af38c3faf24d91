import type { DeclaredType, Row, Sensitivity, Value, ValueOf } from '../../core/index.js';
import type { Step } from '../../flow/index.js';
import type { Extension, ExtensionDeclaration } from '../../options/index.js';

/**
 * The columns that a step adds or overwrites: type and sensitivity by name. By default they are as sensitive as the most sensitive column of the
 * rows, because the function sees all of them.
 */
export type AddedColumns = Readonly<Record<string, DeclaredType | { readonly type: DeclaredType; readonly sensitivity?: Sensitivity }>>;

/** A value, or a function that makes it from the options of a step. */
type Of<O, T> = T | ((options: O) => T);

/** What a step returns for a row. */
type Given = GivenRow | readonly GivenRow[] | null | undefined;

type GivenRow = Readonly<Record<string, Value | undefined>>;

/** What a custom step gets besides its options. */
export interface CustomStepContext {
  /** Name of the step in messages, like `steps[1] convert`. */
  readonly at: string;
}

/**
 * A custom step: rows in, rows out, one at a time and synchronously. Fields that are not listed under `adds` must leave unchanged, so that the type,
 * sensitivity and key of every column stay correct.
 *
 * @typeParam I Options as passed by the caller. @typeParam O Options after validation. @typeParam A The columns that it adds.
 * @typeParam R The names of the columns that it removes.
 */
export interface StepDeclaration<I, O, A extends AddedColumns, R extends string> extends ExtensionDeclaration<I, O> {
  /** The columns that it reads, so that a file without one of them is refused before any request. Default: any. */
  readonly needs?: Of<O, readonly string[]> | undefined;
  /** The columns that it adds or overwrites. `undefined` and a missing field count as `null`. Default: none. */
  readonly adds?: Of<O, A> | undefined;
  /** The columns that it removes from the rows; the function need not delete the fields itself. Default: none. */
  readonly removes?: Of<O, readonly R[]> | undefined;
  /** How many rows one row may become: `same`, exactly one; `fewer`, one or none; `any`, also a list of several. Default `same`. */
  readonly rows?: 'same' | 'fewer' | 'any' | undefined;
  /**
   * Called once per read; state in its closure lives as long as that read.
   *
   * @returns The function that is called with every row, in order. Rows are frozen: it returns new ones, like `{ ...row, … }`, or the row itself. A row
   * that it leaves out counts as filtered.
   */
  open(options: O, context: CustomStepContext): (row: Row) => Given;
}

/** A row after a step that adds and removes columns; any row if the names are only known at run time. */
export type Stepped<T, A extends AddedColumns, R extends string> = [keyof A | R] extends [never]
  ? T
  : string extends keyof A | R
    ? Row
    : Omit<T, keyof A | R> & { readonly [K in keyof A]: ValueOf[TypeIn<A[K]>] | null };

type TypeIn<D> = D extends DeclaredType ? D : D extends { readonly type: infer T extends DeclaredType } ? T : never;

/** Any declaration, as seen by the code that runs it. */
export type AnyStep = StepDeclaration<unknown, unknown, AddedColumns, string>;

/** What `defineStep` returns: a function that makes the step from its options, for programs, and a definition that pipeline files can refer to. */
export interface CustomStep<I = never, A extends AddedColumns = AddedColumns, R extends string = string> extends Extension<
  'step',
  unknown
> {
  /**
   * @throws {StepError} `E_STEP_CONFIG`, synchronously, for invalid options. `E_STEP_FUNCTION`, from the stream, when a function of the step throws
   * (with the thrown value as the `cause`) or returns something invalid.
   */
  <T extends Row>(...options: undefined extends I ? [options?: I] : [options: I]): Step<T, Stepped<T, A, R>>;
}
