import type { Argv } from 'yargs';
import { commonOptions, type Runner } from '../context.js';

/** Adds `leadstream validate`. */
export function addValidate(yargs: Argv, runner: Runner): Argv {
  return yargs.command(
    'validate <file>',
    'Check the pipelines of a file without a request',
    (options) =>
      commonOptions(options)
        .positional('file', { type: 'string', demandOption: true, describe: 'Pipeline file (YAML)' })
        .option('set', { type: 'string', array: true, nargs: 1, default: [], describe: 'PATH=VALUE in place of a value of the file' }),
    (arguments_) =>
      runner(arguments_, async ({ console, env, cwd }) => {
        const { loadPipelines } = await import('../../index.js');
        const { overridesOf } = await import('../overrides.js');
        const pipelines = await loadPipelines(arguments_.file, { env, cwd, set: overridesOf(arguments_.set) });
        for (const { name, plan, warnings } of pipelines) {
          for (const { code, message } of warnings) console.log('warn', `${code}: ${message}`, { code });
          const chain = [plan.collection.name, ...plan.steps.map((step) => step.name), plan.sinks.map((sink) => sink.name).join(' + ')];
          const which = pipelines.length === 1 ? '' : `${name} `;
          console.log('info', `${arguments_.file}: ${which}ok, ${chain.join(' > ')}, ${plan.columns().length} columns`);
        }
        return 0;
      }),
  );
}
