import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { LeadstreamError, reasonOf } from '../core/index.js';
import type { Extensions } from '../index.js';
import type { CommandContext } from './context.js';

/**
 * Loads the modules given with `--plugin`. Each may export only what `defineStep` and `defineSink` return.
 *
 * @param files Paths relative to the working folder of the command.
 * @throws {LeadstreamError} `E_USAGE` for a module that cannot be loaded or that exports anything else.
 */
export async function loadPlugins(files: readonly string[], { cwd }: CommandContext): Promise<Extensions> {
  if (files.length === 0) return {};
  const { extensionsOf } = await import('../index.js');
  const all: Extensions[] = [];
  for (const file of files) {
    const refuse = (problem: string) => new LeadstreamError('E_USAGE', `--plugin ${file}: ${problem}`);
    const loaded: unknown = await import(pathToFileURL(resolve(cwd, file)).href).catch((failure: unknown) => {
      throw refuse(`cannot be loaded: ${reasonOf(failure)}`);
    });
    try {
      all.push(extensionsOf(typeof loaded === 'object' && loaded !== null ? loaded : {}));
    } catch (failure) {
      throw refuse(reasonOf(failure));
    }
  }
  return { steps: all.flatMap(({ steps = [] }) => steps), sinks: all.flatMap(({ sinks = [] }) => sinks) };
}
