import type { Argv } from 'yargs';
import { commonOptions, type Runner } from '../context.js';
import { amount, jsonOf } from '../../core/index.js';
import { writtenTable } from '../../store/index.js';
import { print } from '../streams.js';
import { tableOf } from '../table.js';

/** Adds `leadstream runs`. */
export function addRuns(yargs: Argv, runner: Runner): Argv {
  return yargs.command(
    'runs <dir>',
    'List the existing runs of a table',
    (options) =>
      commonOptions(options)
        .positional('dir', { type: 'string', demandOption: true, describe: 'Table, like lake/leads' })
        .option('json', { type: 'boolean', default: false, describe: 'One JSON object per run, with its whole manifest' })
        .example('$0 runs lake/leads', 'the published run, and those that are kept'),
    (arguments_) =>
      runner(arguments_, async ({ cwd, stdout }) => {
        const { tableRuns } = await import('../../index.js');
        const runs = await tableRuns(writtenTable(arguments_.dir, 'DIR', cwd));
        const text = arguments_.json
          ? runs.map((run) => `${jsonOf(run)}\n`).join('')
          : tableOf(
              ['run', 'state', 'finished', 'mode', 'rows', 'written', 'files', 'bytes', 'consistency'],
              runs.map(({ run, state, manifest }) => [
                run,
                state,
                manifest.finished_at,
                manifest.mode,
                amount(manifest.rows),
                amount(manifest.run.written),
                amount(manifest.files.length),
                amount(manifest.bytes),
                manifest.partial ? 'partial' : manifest.consistency,
              ]),
            );
        await print(stdout, text);
        return 0;
      }),
  );
}
