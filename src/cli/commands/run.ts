import type { Argv } from 'yargs';
import { commonOptions, type CommandContext, type CommonArguments, type Runner } from '../context.js';

interface RunArguments extends CommonArguments {
  readonly file: string;
  readonly set: readonly string[];
  readonly report: string | undefined;
}

/** Adds `leadstream run`. */
export function addRun(yargs: Argv, runner: Runner): Argv {
  return yargs.command(
    'run <file>',
    'Run a pipeline file and publish its outputs',
    (options) =>
      commonOptions(options)
        .positional('file', { type: 'string', demandOption: true, describe: 'Pipeline file (YAML)' })
        .option('set', {
          type: 'string',
          array: true,
          nargs: 1,
          default: [],
          describe: 'PATH=VALUE in place of a value of the file, like service.limit=100',
        })
        .option('report', { type: 'string', describe: 'File for the report as JSON' })
        .example('$0 run pipelines/leads-enriched.yaml', 'credentials come from the environment'),
    (arguments_) => runner(arguments_, (context) => run(arguments_, context)),
  );
}

async function run({ file, set, report: reportFile }: RunArguments, context: CommandContext): Promise<number> {
  const { ClosedPipeError, loadPipeline, runPipeline, summaryOf } = await import('../../index.js');
  const { createProgress } = await import('../progress.js');
  const { overridesOf } = await import('../overrides.js');
  const { writeReport } = await import('../report.js');
  const { console, env, signal } = context;
  const pipeline = await loadPipeline(file, { env, set: overridesOf(set) });
  console.hide(pipeline.secrets);
  const progress = createProgress(console, pipeline.name);
  try {
    const report = await runPipeline(pipeline, {
      signal,
      onProgress: progress.show,
      onRetry: ({ error, attempt, delayMs }) =>
        console.log('warn', `retry ${attempt} in ${Math.round(delayMs)} ms: ${error.message}`, { code: error.code }),
    });
    progress.end();
    console.log('info', summaryOf(report), { report });
    await writeReport(reportFile, { status: 'published', ...report });
    return 0;
  } catch (error) {
    progress.end();
    if (error instanceof ClosedPipeError && pipeline.plan.sinks.every(({ name }) => name === 'stdout')) return 0;
    await writeReport(reportFile, { status: 'failed', pipeline: pipeline.name, error: failureOf(error) });
    throw error;
  }

  function failureOf(error: unknown) {
    if (!(error instanceof Error)) return { message: 'unknown failure' };
    return { code: 'code' in error ? error.code : undefined, message: console.redact(error.message) };
  }
}
