import type { z } from 'zod';
import { reasonOf, zod } from '../core/index.js';

/** How a step or sink is named, described and configured in pipeline files. @typeParam C Its configuration. */
export interface EntryDefinition<N extends string = string, C = unknown> {
  readonly name: N;
  readonly summary: string;
  /** Of a custom one, set by its author: part of the fingerprint. Built-in ones have none. */
  readonly version?: string | undefined;
  readonly config: () => z.ZodType<C>;
  /** Valid configurations, for a chain of leads. They appear in the reference and are checked by a test. */
  readonly examples: readonly unknown[];
}

/** The declaration of a custom step or sink. */
export interface ExtensionDeclaration<I, O> {
  /** What it does, in one sentence. */
  readonly summary?: string | undefined;
  /** To be changed with the behaviour: name and version are part of the pipeline's fingerprint. Default: none. */
  readonly version?: string | undefined;
  /** Checks its options: a schema of zod, valibot, arktype or another library that follows standardschema.dev. Default: it takes none. */
  readonly options?: StandardSchema<I, O> | undefined;
}

/** A schema that follows standardschema.dev. */
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

/** Where `defineStep` and `defineSink` store their arguments. Other versions of leadstream look there too. */
const extensionKey = '~leadstream';

export interface Extension<K extends 'step' | 'sink' = 'step' | 'sink', D = unknown> {
  readonly [extensionKey]: { readonly kind: K; readonly format: 1; readonly name: string; readonly declaration: D };
}

/** @param refuse Makes the error of an invalid name or options. @param make Gets a function that returns the checked options. */
export function extended<K extends 'step' | 'sink', D extends ExtensionDeclaration<unknown, unknown>, T>(
  kind: K,
  name: string,
  declaration: D,
  refuse: (problem: string) => Error,
  make: (options: () => unknown) => T,
): ((given?: unknown) => T) & Extension<K, D> {
  if (!/^[a-z][a-z0-9_]*$/.test(name)) throw refuse(`the name of a ${kind} must be made of a-z, 0-9 and _`);
  const made = (given?: unknown): T =>
    make(() => {
      const checked = checkedOptions(declaration.options, given);
      if ('value' in checked) return checked.value;
      throw refuse(`${name}: ${checked.problems.map(({ message }) => message).join('; ')}`);
    });
  Object.defineProperty(made, 'name', { value: name });
  return Object.assign(made, { [extensionKey]: { kind, format: 1 as const, name, declaration } });
}

/** Returns what `defineStep` or `defineSink` of any copy of leadstream stored in a value. */
export function extensionOf(kind: 'step' | 'sink', value: unknown): Extension[typeof extensionKey] | undefined {
  if ((typeof value !== 'function' && typeof value !== 'object') || value === null) return undefined;
  const { [extensionKey]: stored } = value as Partial<Extension>;
  return stored?.kind === kind && stored.format === 1 ? stored : undefined;
}

/** Returns the schema of an extension's options in a file, which reports each problem at its place. */
export function extensionConfig<O>(options: ExtensionDeclaration<unknown, O>['options']): z.ZodType<O> {
  return zod()
    .unknown()
    .transform((given, context) => {
      const checked = checkedOptions(options, given);
      if ('value' in checked && checked.value !== undefined) return checked.value;
      const nothing = [{ path: [], message: 'the schema of its options returned undefined' }];
      for (const { path, message } of 'problems' in checked ? checked.problems : nothing)
        context.addIssue({ code: 'custom', path: [...path], message });
      return zod().NEVER;
    });
}

type CheckedOptions<O> =
  | { readonly value: O }
  | { readonly problems: readonly { readonly path: readonly (string | number)[]; readonly message: string }[] };

function checkedOptions<O>(options: StandardSchema<unknown, O> | undefined, given: unknown): CheckedOptions<O> {
  const refused = (message: string) => ({ problems: [{ path: [], message }] });
  // Options that nothing checks are none, so O is the empty object.
  if (options === undefined) return isNothing(given) ? { value: {} as O } : refused('it takes no options');
  let result;
  try {
    result = options['~standard'].validate(given);
  } catch (thrown) {
    return refused(reasonOf(thrown));
  }
  if (result instanceof Promise) return refused('its options are checked asynchronously, but must be checked synchronously');
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

function isNothing(given: unknown): boolean {
  if (given === undefined || given === null || given === '') return true;
  return typeof given === 'object' && !Array.isArray(given) && Object.keys(given).length === 0;
}
