import { whatWasThrown } from '../core/index.js';

/** A schema that follows standardschema.dev, like those of zod, valibot and arktype: it checks a value, and returns the value to use. */
export interface StandardSchema<I = unknown, O = I> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<O> | Promise<StandardResult<O>>;
    readonly types?: { readonly input: I; readonly output: O } | undefined;
  };
}

type StandardResult<O> = { readonly value: O; readonly issues?: undefined } | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** How the options of a step or sink are checked: by a schema, or by a function that returns them as they should be, or throws. */
export type OptionsCheck<I = unknown, O = I> = StandardSchema<I, O> | ((given: unknown) => O);

/** Valid options, or their problems and where they are. */
export type CheckedOptions<O> = { readonly value: O } | { readonly problems: readonly OptionProblem[] };

export interface OptionProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/**
 * Checks the options of a custom step or sink.
 *
 * @param check Default: it takes no options.
 * @param isText Whether scalars are given as text, as in a file. If a schema refuses a text that spells a number or a flag, it is given
 * that instead. A function gets the value as given.
 */
export function checkedOptions<O>(check: OptionsCheck<unknown, O> | undefined, given: unknown, isText: boolean): CheckedOptions<O> {
  // Without a check there are no options, so O is the empty object.
  if (check === undefined) return isNothing(given) ? { value: {} as O } : { problems: [{ path: [], message: 'it takes no options' }] };
  if (!isSchema(check)) return byFunction(check, given);
  const first = bySchema(check, given);
  if ('value' in first || !isText) return first;
  const spelled = spelledOut(given, first.problems);
  const second = spelled === undefined ? first : bySchema(check, spelled);
  return 'value' in second ? second : first;
}

/** Returns whether a value can check options. */
export function isOptionsCheck(check: unknown): check is OptionsCheck {
  return typeof check === 'function' || (typeof check === 'object' && check !== null && '~standard' in check);
}

/** Returns whether it is a function, which unlike a schema cannot ask for a number where a text is given. */
export function takesTyped(check: OptionsCheck<unknown, unknown> | undefined): boolean {
  return check !== undefined && !isSchema(check);
}

/** The schemas of some libraries are functions too. */
function isSchema<O>(check: OptionsCheck<unknown, O>): check is StandardSchema<unknown, O> {
  return '~standard' in check;
}

function isNothing(given: unknown): boolean {
  if (given === undefined || given === null || given === '') return true;
  return typeof given === 'object' && !Array.isArray(given) && Object.keys(given).length === 0;
}

function byFunction<O>(check: (given: unknown) => O, given: unknown): CheckedOptions<O> {
  try {
    const value = check(given);
    return isThenable(value) ? asynchronous('function', value) : { value };
  } catch (thrown) {
    return { problems: [{ path: [], message: thrown instanceof Error ? thrown.message : whatWasThrown(thrown) }] };
  }
}

function bySchema<O>(schema: StandardSchema<unknown, O>, given: unknown): CheckedOptions<O> {
  const result = schema['~standard'].validate(given);
  if (isThenable(result)) return asynchronous('schema', result);
  if (result.issues === undefined) return { value: result.value };
  return {
    problems: result.issues.map(({ message, path = [] }) => {
      const keys = path
        .map((part) => (typeof part === 'object' ? part.key : part))
        .map((key) => (typeof key === 'number' ? key : String(key)));
      return { path: keys, message: keys.length === 0 ? message : `${keys.join('.')}: ${message}` };
    }),
  };
}

/** Ignores the later result, including a rejection. */
function asynchronous(what: string, later: PromiseLike<unknown>): { readonly problems: readonly OptionProblem[] } {
  later.then(undefined, () => {});
  return { problems: [{ path: [], message: `its ${what} is asynchronous, but options are checked synchronously` }] };
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return isRecord(value) && 'then' in value && typeof value.then === 'function';
}

/** Returns a copy with numbers and flags in place of refused texts that spell them; `undefined` if there are none. */
function spelledOut(given: unknown, problems: readonly OptionProblem[]): unknown {
  if (problems.some(({ path }) => path.length === 0) && typeof given === 'string') return scalarOf(given);
  if (typeof given !== 'object' || given === null) return undefined;
  const spelled: unknown = structuredClone(given);
  let found = false;
  for (const { path } of problems) {
    const parent = path.slice(0, -1).reduce<unknown>((inner, key) => (isRecord(inner) ? Reflect.get(inner, key) : undefined), spelled);
    const key = path.at(-1);
    const scalar = key !== undefined && isRecord(parent) ? scalarOf(Reflect.get(parent, key)) : undefined;
    if (key === undefined || !isRecord(parent) || scalar === undefined) continue;
    found = Reflect.set(parent, key, scalar);
  }
  return found ? spelled : undefined;
}

function scalarOf(text: unknown): number | boolean | undefined {
  if (typeof text !== 'string') return undefined;
  if (/^(?:true|false)$/.test(text)) return text === 'true';
  return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
