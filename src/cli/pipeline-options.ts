import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Argv } from 'yargs';
import { LeadstreamError, reasonOf, unknownName } from '../core/index.js';
import type { Extensions, LoadOptions, Pipeline } from '../index.js';
import { commonOptions, repeated, type CommandContext, type CommonArguments } from './context.js';

/** Options of the commands that load pipelines. */
export interface PipelineArguments extends CommonArguments {
  readonly set: readonly string[];
  readonly plugin: readonly string[];
}

/** Declares the options of commands that load pipelines, besides the common ones. */
export function pipelineOptions<T>(yargs: Argv<T>) {
  return pluginOption(commonOptions(yargs)).option('set', {
    ...repeated,
    describe: 'Override a value of the file: PATH=VALUE, like service.limit=100',
  });
}

/** Declares `--plugin`, the option of all commands that read pipeline files. */
export function pluginOption<T>(yargs: Argv<T>) {
  return yargs.option('plugin', { ...repeated, describe: 'Module with custom steps and sinks, which is executed, like ./mine.mjs' });
}

/**
 * Returns what pipeline files are loaded with.
 *
 * @throws {LeadstreamError} `E_USAGE` for a `--set` that is not PATH=VALUE or a path given twice, and as `loadPlugins` does.
 */
export async function loadOptionsOf({ set, plugin }: PipelineArguments, context: CommandContext): Promise<LoadOptions> {
  const { env, cwd } = context;
  const values = new Map<string, string>();
  for (const pair of set) {
    const at = pair.indexOf('=');
    if (at < 1) throw new LeadstreamError('E_USAGE', '--set takes PATH=VALUE, like service.limit=100');
    const path = pair.slice(0, at);
    if (values.has(path)) throw new LeadstreamError('E_USAGE', `--set ${path} is given twice`);
    values.set(path, pair.slice(at + 1));
  }
  return { ...(await loadPlugins(plugin, context)), env, cwd, set: Object.fromEntries(values) };
}

/**
 * Loads the modules given with `--plugin`.
 *
 * @param files Paths relative to the working folder of the command.
 * @throws {LeadstreamError} `E_USAGE` for a module that cannot be loaded or has neither steps nor sinks.
 */
export async function loadPlugins(files: readonly string[], { cwd }: CommandContext): Promise<Extensions> {
  if (files.length === 0) return {};
  const { extensionsOf } = await import('../index.js');
  const all: Extensions[] = [];
  for (const file of files) {
    try {
      all.push(extensionsOf((await import(pathToFileURL(resolve(cwd, file)).href)) as object));
    } catch (failure) {
      throw new LeadstreamError('E_USAGE', `--plugin ${file}: ${reasonOf(failure)}`);
    }
  }
  return { steps: all.flatMap(({ steps = [] }) => steps), sinks: all.flatMap(({ sinks = [] }) => sinks) };
}

/**
 * Loads the one pipeline that a command works on. The console hides its secrets from here on.
 *
 * @throws {LeadstreamError} `E_USAGE` when the file has several and `--only` names none, and as `loadOptionsOf` does.
 * @throws {SpecError} When the file is wrong.
 */
export async function loadOne(
  arguments_: PipelineArguments & { readonly file: string; readonly only: string | undefined },
  context: CommandContext,
): Promise<Pipeline> {
  const { file, only } = arguments_;
  const { loadPipelines } = await import('../index.js');
  const pipelines = await loadPipelines(file, await loadOptionsOf(arguments_, context));
  const [first, ...others] = named(pipelines, only === undefined ? [] : [only]);
  if (!first || others.length > 0) {
    const names = pipelines.map(({ name }) => name).join(', ');
    throw new LeadstreamError('E_USAGE', `${file} holds several pipelines; name one with --only: ${names}`);
  }
  context.console.hide(first.secrets);
  return first;
}

/**
 * Returns the pipelines that a command line selects: all, or the named ones.
 *
 * @param only Names given with `--only`; empty for all.
 * @throws {LeadstreamError} `E_USAGE` for a name that no pipeline has.
 */
export function named<P extends Pick<Pipeline, 'name'>>(pipelines: readonly P[], only: readonly string[]): readonly P[] {
  const names = pipelines.map(({ name }) => name);
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new LeadstreamError('E_USAGE', `--only: ${unknownName('pipeline', unknown, names)}`);
  return only.length === 0 ? pipelines : pipelines.filter(({ name }) => only.includes(name));
}

/** Returns the names in an option that takes several, separated by commas (`--columns lead_id,email`) or given one by one. */
export function listed(words: readonly string[]): readonly string[] {
  return words.flatMap((word) => word.split(',')).flatMap((word) => word.trim() || []);
}
