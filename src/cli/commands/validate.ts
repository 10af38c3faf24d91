import type { Argv } from 'yargs';
import { commonOptions, type Runner } from '../context.js';

/** Adds `leadstream validate`. */
export function addValidate(yargs: Argv, runner: Runner): Argv {
  return yargs.command(
    'validate <file>',
    'Check a pipeline file without a request',
    (options) =>
      commonOptions(options)
        .positional('file', { type: 'string', demandOption: true, describe: 'Pipeline file (YAML)' })
        .option('set', { type: 'string', array: true, nargs: 1, default: [], describe: 'PATH=VALUE in place of a value of the file' }),
    (arguments_) =>
      runner(arguments_, async ({ console, env }) => {
        const { loadPipeline } = await import('../../index.js');
        const { overridesOf } = await import('../overrides.js');
        const { plan } = await loadPipeline(arguments_.file, { env, set: overridesOf(arguments_.set) });
        const chain = [plan.collection.name, ...plan.steps.map(({ name }) => name), plan.sinks.map(({ name }) => name).join(' + ')];
        console.log('info', `${arguments_.file}: ok, ${chain.join(' > ')}, ${plan.columns().length} columns`);
        return 0;
      }),
  );
}
