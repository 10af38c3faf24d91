import { zod } from '../core/index.js';
import type { z } from 'zod';
import { callable, check, faultsIn, object, type Checks } from './check.js';
import { checkedOptions, isOptionsCheck, type OptionsCheck } from './standard-schema.js';

/** The declaration of a custom step or sink. */
export interface ExtensionDeclaration<I, O> {
  /** What it does, in one sentence. */
  readonly summary?: string | undefined;
  /**
   * Change it when the behaviour changes: it is part of the pipeline's fingerprint, with the name. leadstream does not inspect the code. Default: none.
   */
  readonly version?: string | undefined;
  /**
   * Checks its options: a schema of zod, valibot, arktype or any other library that follows standardschema.dev, or a function that returns
   * the options as they should be, or throws. Default: it takes none.
   */
  readonly options?: OptionsCheck<I, O> | undefined;
}

/** The key under which `defineStep` and `defineSink` store their arguments. Other versions of leadstream look for it too. */
const extensionKey = '~leadstream';

/** The result of `defineStep` or `defineSink`, of any copy of leadstream. */
export interface Extension<K extends 'step' | 'sink' = 'step' | 'sink', D = unknown> {
  readonly [extensionKey]: { readonly kind: K; readonly format: 1; readonly name: string; readonly declaration: D };
}

/** Turns a function into an extension: sets its name and attaches the declaration. */
export function extended<K extends 'step' | 'sink', D, T>(
  kind: K,
  name: string,
  declaration: D,
  make: (options?: unknown) => T,
): ((options?: unknown) => T) & Extension<K, D> {
  Object.defineProperty(make, 'name', { value: name });
  return Object.assign(make, { [extensionKey]: { kind, format: 1 as const, name, declaration } });
}

/** Returns the extension data of something that `defineStep` or `defineSink` may have created. */
export function extensionOf(value: unknown): Extension[typeof extensionKey] | undefined {
  if ((typeof value !== 'function' && typeof value !== 'object') || value === null) return undefined;
  const made: unknown = Reflect.get(value, extensionKey);
  return isMade(made) ? made : undefined;
}

function isMade(made: unknown): made is Extension[typeof extensionKey] {
  if (typeof made !== 'object' || made === null || !('kind' in made) || !('format' in made)) return false;
  return (made.kind === 'step' || made.kind === 'sink') && made.format === 1;
}

/**
 * Describes what is wrong with a name or declaration.
 *
 * @param own The keys that it may have in addition to those of all extensions; it must have `open`.
 */
export function extensionProblem(name: unknown, declaration: unknown, own: Checks): string | undefined {
  if (typeof name !== 'string' || !/^[a-z][a-z0-9_]*$/.test(name)) return 'the first argument must be a name of a-z, 0-9 and _';
  if (typeof declaration !== 'object' || declaration === null) return `${name}: the second argument must be an object with open`;
  const problems = faultsIn(object({ ...common, open: callable, ...own }, ['open']), declaration);
  return problems.length === 0 ? undefined : `${name}: ${problems.join('; ')}`;
}

const common: Checks = {
  summary: check('a text', (value) => typeof value === 'string'),
  version: check("a text, like '1.2'", (value) => typeof value === 'string'),
  options: check('a schema (of zod, valibot, arktype, …) or a function', isOptionsCheck),
};

/** Returns the schema of an extension's options in a file; it reports each problem at its place. */
export function extensionConfig<O>(check: OptionsCheck<unknown, O> | undefined): z.ZodType<O> {
  return zod()
    .unknown()
    .transform((given, context) => {
      const checked = checkedOptions(check, given, true);
      if ('value' in checked && checked.value !== undefined) return checked.value;
      const nothing = [{ path: [], message: 'the check of its options returned undefined; return the options, or throw' }];
      for (const { path, message } of 'problems' in checked ? checked.problems : nothing)
        context.addIssue({ code: 'custom', path: [...path], message });
      return zod().NEVER;
    });
}
