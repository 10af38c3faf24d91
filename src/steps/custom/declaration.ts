import type { DeclaredType, Row, Sensitivity, Value, ValueOf } from '../../core/index.js';
import type { Step } from '../../flow/index.js';
import type { Extension, ExtensionDeclaration } from '../../options/index.js';

/**
 * The columns that a step adds, or gives new values: by name the type, and the sensitivity. Default: as sensitive as the most sensitive column
 * of the rows, since the function is given all of them.
 */
export type AddedColumns = Readonly<Record<string, DeclaredType | { readonly type: DeclaredType; readonly sensitivity?: Sensitivity }>>;

/** Something, or what makes it of the options of a step. */
type Of<O, T> = T | ((options: O) => T);

/** What a step gives for a row. */
type Given = GivenRow | readonly GivenRow[] | null | undefined;

type GivenRow = Readonly<Record<string, Value | undefined>>;

/** What a step of one's own gets besides its options. */
export interface CustomStepContext {
  /** Name of the step in messages, like `steps[1] convert`. */
  readonly at: string;
}

/**
 * A step of one's own: rows in, rows out, one at a time and at once. Fields that it does not name under `adds` leave it as they came, so that
 * types, sensitivity and key of every column stay true.
 *
 * @typeParam I Options as they are given. @typeParam O Options as they were checked. @typeParam A The columns that it adds.
 * @typeParam R The names of those that it removes.
 */
export interface StepDeclaration<I, O, A extends AddedColumns, R extends string> extends ExtensionDeclaration<I, O> {
  /** The columns that it reads, so that a file which lacks one is refused before any request. Default: any. */
  readonly needs?: Of<O, readonly string[]> | undefined;
  /** The columns that it adds, or gives new values. `undefined` and a field that is not there count as `null`. Default: none. */
  readonly adds?: Of<O, A> | undefined;
  /** The columns that it takes out of the rows; it need not remove the fields itself. Default: none. */
  readonly removes?: Of<O, readonly R[]> | undefined;
  /** How many rows leave for one that comes: the `same`, one; `fewer`, one or none; `any`, also a list of several. Default `same`. */
  readonly rows?: 'same' | 'fewer' | 'any' | undefined;
  /**
   * Called once for each read; what it keeps in its closure lasts as long.
   *
   * @returns The function that is given a copy of every row, in order. It gives new ones, like `{ ...row, … }`: a change in place is refused, also
   * of rows from before, be they given or kept (not seen: what code that is not strict does with rows of an earlier page, and what becomes of
   * fields that the step does not add in a row that was given). A row that it leaves out counts as filtered.
   */
  open(options: O, context: CustomStepContext): (row: Row) => Given;
}

/** A row behind a step that adds and removes columns; where their names are not known before it runs, any row. */
export type Stepped<T, A extends AddedColumns, R extends string> = [keyof A | R] extends [never]
  ? T
  : string extends keyof A | R
    ? Row
    : Omit<T, keyof A | R> & { readonly [K in keyof A]: ValueOf[TypeIn<A[K]>] | null };

type TypeIn<D> = D extends DeclaredType ? D : D extends { readonly type: infer T extends DeclaredType } ? T : never;

/** Any declaration, as those who run it see it. */
export type AnyStep = StepDeclaration<unknown, unknown, AddedColumns, string>;

/**
 * What `defineStep` makes: a function that makes the step of its options, for programs, and a definition that pipeline files can name.
 *
 * @typeParam I As in `StepDeclaration`.
 */
export interface CustomStep<I = never, A extends AddedColumns = AddedColumns, R extends string = string> extends Extension<
  'step',
  unknown
> {
  /**
   * @throws {StepError} `E_STEP_CONFIG`, at once, for options that cannot be right. `E_STEP_FUNCTION`, by the stream, when a function of the
   * step throws, with what it threw as the `cause`, and when it gives what it may not.
   */
  <T extends Row>(...options: undefined extends I ? [options?: I] : [options: I]): Step<T, Stepped<T, A, R>>;
}
