import type { Argv } from 'yargs';
import type { Pipeline } from '../../index.js';
import { commonOptions, type CommandContext, type CommonArguments, type Runner } from '../context.js';
import { toldBy } from '../failure.js';

interface RunArguments extends CommonArguments {
  readonly file: string | undefined;
  readonly stateDir: string;
  readonly restart: boolean;
  readonly finish: boolean;
  readonly set: readonly string[];
  readonly report: string | undefined;
}

/** Adds `leadstream run`. */
export function addRun(yargs: Argv, runner: Runner): Argv {
  return yargs.command(
    'run [file]',
    'Run a pipeline file and publish its outputs',
    (options) =>
      commonOptions(options)
        .positional('file', { type: 'string', describe: 'Pipeline file (YAML)' })
        .option('set', {
          type: 'string',
          array: true,
          nargs: 1,
          default: [],
          describe: 'PATH=VALUE in place of a value of the file, like service.limit=100',
        })
        .option('report', { type: 'string', describe: 'File for the report as JSON' })
        .option('state-dir', { type: 'string', default: '.leadstream', describe: 'Folder of landed pages and of publications under way' })
        .option('restart', { type: 'boolean', default: false, describe: 'Read everything afresh, even if an interrupted run left pages' })
        .option('finish', { type: 'boolean', default: false, describe: 'Only complete the publications that killed runs had decided' })
        .check(({ file, finish }) => (file === undefined) === finish || 'name a pipeline file, or --finish without one')
        .example('$0 run pipelines/leads-enriched.yaml', 'credentials come from the environment'),
    (arguments_) => runner(arguments_, (context) => run(arguments_, context)),
  );
}

async function run({ file, stateDir, ...rest }: RunArguments, context: CommandContext): Promise<number> {
  if (file !== undefined) return runFile({ file, stateDir, ...rest }, context);
  const { finishRuns } = await import('../../index.js');
  const finished = await finishRuns(stateDir);
  context.console.log('info', finished.length === 0 ? 'nothing to finish' : `finished: ${finished.join(', ')}`);
  return 0;
}

type FileArguments = Omit<RunArguments, 'file' | 'finish'> & { readonly file: string };

async function runFile({ file, set, report: reportFile, stateDir, restart }: FileArguments, context: CommandContext): Promise<number> {
  const { ClosedPipeError, loadPipeline } = await import('../../index.js');
  const { overridesOf } = await import('../overrides.js');
  const { openReport } = await import('../report.js');
  const { runAndTell } = await import('../tell.js');
  const { console, env } = context;
  const overrides = overridesOf(set);
  const report = await openReport(reportFile, console);
  let pipeline: Pipeline | undefined;
  try {
    pipeline = await loadPipeline(file, { env, set: overrides });
    const done = await runAndTell(pipeline, context, { stateDir, restart });
    await report.write({ status: 'published', ...done });
    return 0;
  } catch (error) {
    const closed = error instanceof ClosedPipeError && pipeline?.plan.sinks.every(({ name }) => name === 'stdout');
    const { code, message } = toldBy(error);
    const reason = { code, message: console.redact(message) };
    await report.write({ status: closed ? 'closed' : 'failed', pipeline: pipeline?.name, error: reason });
    if (closed) return 0;
    throw error;
  }
}
