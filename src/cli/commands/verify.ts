import { resolve } from 'node:path';
import type { Argv } from 'yargs';
import { amountOf, GateError, LeadstreamError } from '../../core/index.js';
import { fixedPath, writtenTable } from '../../store/index.js';
import { commonOptions, type Runner } from '../context.js';

/** Adds `leadstream verify`. */
export function addVerify(yargs: Argv, runner: Runner): Argv {
  return yargs.command(
    'verify <dir>',
    'Compare the files of a table with its manifest, byte by byte',
    (options) =>
      commonOptions(options)
        .positional('dir', { type: 'string', demandOption: true, describe: 'Table, like lake/leads' })
        .option('run', { type: 'string', describe: 'A kept run instead of the published one', conflicts: 'manifest' })
        .option('manifest', { type: 'string', describe: 'Manifest of a copied table; DIR is then the folder with the copied files' })
        .option('state-dir', {
          type: 'string',
          defaultDescription: '".leadstream"',
          describe: 'Folder with the log of runs, as given to the runs; a moved table is found in it by its run',
        })
        .example('$0 verify lake/leads', 'exits with 65 if anything differs')
        .example('$0 verify backup/leads --manifest backup/leads.manifest.json', 'a copy'),
    (arguments_) =>
      runner(arguments_, async ({ console, cwd }) => {
        const { verifyTable } = await import('../../index.js');
        const { dir, manifest, stateDir = '.leadstream' } = arguments_;
        const { run, files, rows, bytes, differences, evidence, movedFrom } = await verifyTable(writtenTable(dir, 'DIR', cwd), {
          run: arguments_.run,
          manifest: manifest === undefined ? undefined : resolve(cwd, manifest),
          stateDir: fixedPath(stateDir, '--state-dir', cwd),
        });
        if (differences.length > 0)
          throw new GateError(
            'E_GATE_VERIFY',
            differences.map((difference) => `${dir}: ${difference}`),
          );
        if (evidence === 'none' && manifest === undefined) {
          const unchecked = `${dir}: no log of runs in ${stateDir} has run ${run}, so only files and manifest were compared with each other`;
          // A folder given with the option is expected to have the runs.
          if (arguments_.stateDir !== undefined) throw new LeadstreamError('E_STATE_LOG', unchecked);
          console.event(
            'warning',
            { code: 'W_STATE_LOG' },
            `W_STATE_LOG: ${unchecked}; name the state folder of its runs with --state-dir`,
          );
        }
        console.log(
          'info',
          `${dir}: run ${run} matches its manifest: ${amountOf(rows, 'row')}, ${amountOf(files, 'file')}, ${amountOf(bytes, 'byte')}; ${evidences[evidence]}${movedFrom === undefined ? '' : `, where the table is ${movedFrom}`}`,
        );
        return 0;
      }),
  );
}

/** How the manifest itself was checked. */
const evidences = {
  sha256: 'the manifest is the one in the log of runs (SHA-256)',
  none: 'the manifest could not be checked, because no log of runs has it',
};
