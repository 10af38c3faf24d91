import type { Argv } from 'yargs';
import { fixedPath, writtenTable } from '../../store/index.js';
import { commonOptions, type Runner } from '../context.js';

/** Adds `leadstream rollback`. */
export function addRollback(yargs: Argv, runner: Runner): Argv {
  return yargs.command(
    'rollback <dir>',
    'Publish an earlier run of a table again',
    (options) =>
      commonOptions(options)
        .positional('dir', { type: 'string', demandOption: true, describe: 'Table, like lake/leads' })
        .option('to', {
          type: 'string',
          describe: 'Run to publish again, an earlier or a later one (default: the one that the published run replaced)',
        })
        .option('state-dir', {
          type: 'string',
          default: '.leadstream',
          describe: 'Folder of the redo log and the log of runs, as given to the runs',
        })
        .example('$0 rollback lake/leads', 'one run back; again, one run further')
        .example('$0 rollback lake/leads --to RUN', 'to any run that `runs` lists, also forward again'),
    (arguments_) =>
      runner(arguments_, async ({ console, cwd }) => {
        const { rollbackTable } = await import('../../index.js');
        const { dir, to, stateDir } = arguments_;
        const done = await rollbackTable(writtenTable(dir, 'DIR', cwd), {
          to,
          stateDir: fixedPath(stateDir, '--state-dir', cwd),
        });
        const kept = done.from === undefined ? '' : `; run ${done.from} is kept`;
        if (done.evidence === 'none')
          console.event(
            'warning',
            { code: 'W_STATE_LOG' },
            `W_STATE_LOG: ${dir}: no log of runs in ${stateDir} has run ${done.to}, so its manifest could not be checked; name the state folder of its runs with --state-dir`,
          );
        console.log('info', `${dir}: run ${done.to} is published again${kept}`);
        return 0;
      }),
  );
}
