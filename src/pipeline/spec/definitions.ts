import { LeadstreamError } from '../../core/index.js';
import { customSinkOf, sinks, type CustomSink, type SinkDefinition } from '../../sinks/index.js';
import { customStepOf, loadSteps, type CustomStep, type StepDefinition } from '../../steps/index.js';

/** What a pipeline file can contain in addition to what leadstream provides. */
export interface Extensions {
  /** Results of `defineStep`. Default: none. */
  readonly steps?: readonly CustomStep[] | undefined;
  /** Results of `defineSink`. Default: none. */
  readonly sinks?: readonly CustomSink[] | undefined;
}

/** Everything that a pipeline file can name, by name. */
export interface Definitions {
  readonly steps: Readonly<Record<string, StepDefinition>>;
  readonly sinks: Readonly<Record<string, SinkDefinition>>;
}

/**
 * Returns everything that a file can contain: the steps and sinks of leadstream, and those of a program.
 *
 * @throws {LeadstreamError} `E_USAGE` for a name that is taken. Anything that is not a step or sink is reported by `extensionsProblem`.
 */
export async function definitionsWith(own: Extensions): Promise<Definitions> {
  const builtIn: Definitions = { steps: await loadSteps(), sinks };
  return {
    steps: merged('step', builtIn.steps, own.steps ?? [], customStepOf),
    sinks: merged('sink', builtIn.sinks, own.sinks ?? [], customSinkOf),
  };
}

/**
 * Returns the steps and sinks exported by a module, for `loadPipeline` and similar functions.
 *
 * @param module Result of `import`, also for a CommonJS module. It must export only results of `defineStep` and `defineSink`.
 * @throws {LeadstreamError} `E_USAGE` for a module without exports, and for any other export.
 *
 * @example
 * const mine: object = await import(new URL('mine.mjs', import.meta.url).href);
 * const pipeline = await loadPipeline('leads.yaml', extensionsOf(mine));
 */
export function extensionsOf(module: object): Extensions {
  const exported = exportsOf(module);
  const refuse = (problem: string) => new LeadstreamError('E_USAGE', problem);
  if (exported.length === 0)
    throw refuse('exports nothing; export what defineStep or defineSink returns, like `export const mine = defineStep(…)`');
  for (const [name, value] of exported) {
    if (isStep(value) || isSink(value)) continue;
    const remedy = 'export only what these return, each by itself';
    throw refuse(`the export '${name}' was not made by defineStep or defineSink of this version; ${remedy}`);
  }
  // The same value may be exported by two names.
  const values = [...new Set(exported.map(([, value]) => value))];
  return { steps: values.filter(isStep), sinks: values.filter(isSink) };
}

type Exported = readonly [name: string, value: unknown];

/** Returns the exports of a module. For a CommonJS module, or an object exported as `default`, returns the properties of that object. */
function exportsOf(module: object): readonly Exported[] {
  const exported: readonly Exported[] = Object.entries(module);
  return exported.flatMap(([name, value]): readonly Exported[] => {
    // The mark that compilers add to a module.
    if (name === '__esModule' && value === true) return [];
    if ((name !== 'default' && name !== 'module.exports') || !isBag(value)) return [[name, value]];
    return exportsOf(value);
  });
}

function isBag(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isStep(value) && !isSink(value);
}

function isStep(value: unknown): value is CustomStep {
  return customStepOf(value) !== undefined;
}

function isSink(value: unknown): value is CustomSink {
  return customSinkOf(value) !== undefined;
}

/** Describes what is wrong with a list of steps or sinks; `undefined` if nothing is. */
export function extensionsProblem(kind: 'step' | 'sink', list: unknown): string | undefined {
  const made = kind === 'step' ? 'defineStep' : 'defineSink';
  if (!Array.isArray(list)) return `must be a list of what ${made} returns`;
  const read = kind === 'step' ? customStepOf : customSinkOf;
  const place = list.findIndex((each: unknown) => read(each) === undefined);
  return place < 0 ? undefined : `[${place}] was not made by ${made} of this version`;
}

function merged<D extends { readonly name: string }>(
  kind: string,
  builtIn: Readonly<Record<string, D>>,
  own: readonly unknown[],
  read: (each: unknown) => D | undefined,
): Readonly<Record<string, D>> {
  const all = new Map(Object.entries(builtIn));
  for (const each of own) {
    const definition = read(each);
    if (definition === undefined) throw new Error(`no ${kind}`);
    const { name } = definition;
    const whose = Object.hasOwn(builtIn, name) ? 'a built-in one' : 'another one of yours';
    if (all.has(name)) throw new LeadstreamError('E_USAGE', `the ${kind} name '${name}' is already used by ${whose}; choose another`);
    all.set(name, definition);
  }
  return Object.fromEntries(all);
}
