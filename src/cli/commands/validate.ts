import type { Argv } from 'yargs';
import { commonOptions, type Runner } from '../context.js';
import { reportFailure } from '../failure.js';

/** Adds `leadstream validate`. */
export function addValidate(yargs: Argv, runner: Runner): Argv {
  return yargs.command(
    'validate <files..>',
    'Check the pipelines of files without a request',
    (options) =>
      commonOptions(options)
        .positional('files', { type: 'string', array: true, demandOption: true, describe: 'Pipeline files (YAML)' })
        .option('set', { type: 'string', array: true, nargs: 1, default: [], describe: 'Override a value of the file: PATH=VALUE' }),
    (arguments_) =>
      runner(arguments_, async ({ console, env, cwd }) => {
        const { loadPipelines } = await import('../../index.js');
        const { overridesOf } = await import('../overrides.js');
        const set = overridesOf(arguments_.set);
        let exit = 0;
        for (const file of arguments_.files) {
          try {
            const pipelines = await loadPipelines(file, { env, cwd, set, stateDir: '.leadstream' });
            for (const { name, plan, warnings } of pipelines) {
              for (const { code, message } of warnings) console.log('warn', `${code}: ${message}`, { code });
              const chain = [plan.collection.name, ...plan.steps.map((step) => step.name), plan.sinks.map((sink) => sink.name).join(' + ')];
              const which = pipelines.length === 1 ? '' : `${name} `;
              console.log('info', `${file}: ${which}ok, ${chain.join(' > ')}, ${plan.columns().length} columns`);
            }
          } catch (error) {
            // A wrong file leaves the others to be checked; the first failure gives the exit code.
            const failed = reportFailure(console, error);
            if (exit === 0) exit = failed;
          }
        }
        return exit;
      }),
  );
}
