import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { LeadstreamError, reasonOf } from '../core/index.js';
import type { Argv } from 'yargs';
import type { Extensions } from '../index.js';
import type { CommandContext } from './context.js';

/** Declares `--plugin`, the option of all commands that read pipeline files. */
export function pluginOption<T>(yargs: Argv<T>) {
  return yargs.option('plugin', {
    type: 'string',
    array: true,
    nargs: 1,
    default: [] as string[],
    describe: 'Module with custom steps and sinks, which is executed, like ./mine.mjs',
  });
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
