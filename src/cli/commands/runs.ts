import type { Argv } from 'yargs';
import { commonOptions, type Runner } from '../context.js';
import { amount, jsonOf, printable } from '../../core/index.js';
import { writtenTable } from '../../store/index.js';
import { print } from '../streams.js';

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

/** Formats rows of text below their titles, each column as wide as its widest cell. */
function tableOf(titles: readonly string[], texts: readonly (readonly string[])[]): string {
  const rows = texts.map((row) => row.map(printable));
  const widths = titles.map((title, index) => Math.max(title.length, ...rows.map((row) => row[index]?.length ?? 0)));
  const lineOf = (cells: readonly string[]) =>
    cells
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd();
  return [titles, ...rows].map((cells) => `${lineOf(cells)}\n`).join('');
}
