import { resolve } from 'node:path';
import type { Argv } from 'yargs';
import { GateError } from '../../errors.js';
import { commonOptions, type Runner } from '../context.js';
import { amount } from '../table.js';

/** Adds `leadstream verify`. */
export function addVerify(yargs: Argv, runner: Runner): Argv {
  return yargs.command(
    'verify <dir>',
    'Compare the files of a table with its manifest, byte by byte',
    (options) =>
      commonOptions(options)
        .positional('dir', { type: 'string', demandOption: true, describe: 'Table, like lake/leads' })
        .option('run', { type: 'string', describe: 'A kept run in place of the published one' })
        .example('$0 verify lake/leads', 'exits with 65 when anything differs'),
    (arguments_) =>
      runner(arguments_, async ({ console, cwd }) => {
        const { verifyTable } = await import('../../index.js');
        const { dir } = arguments_;
        const { run, files, rows, bytes, differences } = await verifyTable(resolve(cwd, dir), arguments_.run);
        if (differences.length > 0)
          throw new GateError(
            'E_GATE_VERIFY',
            differences.map((difference) => `${dir}: ${difference}`),
          );
        console.log(
          'info',
          `${dir}: run ${run} is as its manifest says: ${amount(rows)} rows, ${amount(files)} files, ${amount(bytes)} bytes`,
        );
        return 0;
      }),
  );
}
