import { LeadstreamError } from '../core/index.js';
import { customSinkOf, sinks, type CustomSink, type SinkDefinition } from '../sinks/index.js';
import { customStepOf, loadSteps, type CustomStep, type StepDefinition } from '../steps/index.js';
import type { Environment } from './references.js';

/** Extensions that a pipeline file can use. */
export interface Extensions {
  /** Results of `defineStep`. Default: none. */
  readonly steps?: readonly CustomStep[] | undefined;
  /** Results of `defineSink`. Default: none. */
  readonly sinks?: readonly CustomSink[] | undefined;
}

/** The options for loading a pipeline file. */
export interface LoadOptions extends Extensions {
  /** Default `process.env`. */
  readonly env?: Environment;
  /** Values that replace the file's, for example `{ 'service.limit': '100' }`. Not under `service.auth`. */
  readonly set?: Readonly<Record<string, string>>;
  /** Folder that the path of the pipeline file resolves against. Default: the working directory. */
  readonly cwd?: string;
  /** Folder that relative paths in the file resolve against. Default: `cwd`. */
  readonly baseDir?: string;
  /** State folder of the runs, which must not contain outputs; relative to `baseDir`. Default: checked by the run. */
  readonly stateDir?: string;
}

export type Definitions = Awaited<ReturnType<typeof definitionsWith>>;

/** @throws {LeadstreamError} `E_USAGE` for a name that is taken, and for what `defineStep` or `defineSink` did not return. */
export async function definitionsWith(own: Extensions) {
  return {
    steps: merged<StepDefinition>('step', await loadSteps(), own.steps ?? [], customStepOf),
    sinks: merged<SinkDefinition>('sink', sinks, own.sinks ?? [], customSinkOf),
  };
}

/** Returns the steps and sinks that a module exports, also a CommonJS one, or one in an object. */
export function extensionsOf(module: object): Extensions {
  // A module may export the same value under two names.
  const exported = new Set<unknown>(
    Object.values(module).flatMap((value: unknown): unknown[] => [value, ...Object.values<unknown>(Object.assign({}, value))]),
  );
  const found = {
    steps: [...exported].filter((value): value is CustomStep => customStepOf(value) !== undefined),
    sinks: [...exported].filter((value): value is CustomSink => customSinkOf(value) !== undefined),
  };
  if (found.steps.length + found.sinks.length > 0) return found;
  const remedy = 'export what defineStep or defineSink returns, like `export const mine = defineStep(…)`';
  throw new LeadstreamError('E_USAGE', `exports no step or sink of this version; ${remedy}`);
}

function merged<D extends { readonly name: string }>(
  kind: 'step' | 'sink',
  builtIn: Readonly<Record<string, D>>,
  own: readonly unknown[],
  read: (each: unknown) => D | undefined,
): Readonly<Record<string, D>> {
  const all = new Map(Object.entries(builtIn));
  for (const [index, each] of own.entries()) {
    const definition = read(each);
    const made = kind === 'step' ? 'defineStep' : 'defineSink';
    if (definition === undefined) throw new LeadstreamError('E_USAGE', `${kind}s[${index}] was not made by ${made} of this version`);
    const { name } = definition;
    if (all.has(name)) throw new LeadstreamError('E_USAGE', `the ${kind} name '${name}' is already used; choose another`);
    all.set(name, definition);
  }
  return Object.fromEntries(all);
}
