import { resolve } from 'node:path';
import type { Argv } from 'yargs';
import { LeadstreamError } from '../../core/index.js';
import type { Pipeline } from '../../index.js';
import type { RunFlags } from '../reporting.js';
import type { ReportFile } from '../report.js';
import { commonOptions, type CommandContext, type CommonArguments, type Runner } from '../context.js';

interface RunArguments extends CommonArguments {
  readonly file: string | undefined;
  readonly stateDir: string;
  readonly restart: boolean;
  readonly recover: boolean;
  readonly keepFailed: boolean;
  readonly allowShrink: boolean;
  readonly allowPartial: boolean;
  readonly set: readonly string[];
  readonly report: string | undefined;
}

/** Adds `leadstream run`. */
export function addRun(yargs: Argv, runner: Runner): Argv {
  return yargs.command(
    'run [file]',
    'Run the pipelines of a file, one after another, and publish their outputs',
    (options) =>
      commonOptions(options)
        .positional('file', { type: 'string', describe: 'Pipeline file (YAML)' })
        .option('set', {
          type: 'string',
          array: true,
          nargs: 1,
          default: [],
          describe: 'Override a value of the file: PATH=VALUE, like service.limit=100',
        })
        .option('report', { type: 'string', describe: 'File for the report as JSON' })
        .option('state-dir', { type: 'string', default: '.leadstream', describe: 'Folder of spooled pages and of the redo log' })
        .option('restart', { type: 'boolean', default: false, describe: 'Read everything again, even if an interrupted run left pages' })
        .option('allow-shrink', {
          type: 'boolean',
          default: false,
          describe: 'Publish this once, although lists or outputs shrank more than allowed',
        })
        .option('allow-partial', {
          type: 'boolean',
          default: false,
          describe: 'Replace outputs that exist, although a limit stops the read',
        })
        .option('keep-failed', {
          type: 'boolean',
          default: false,
          describe: 'Quarantine outputs that a gate refuses for inspection, instead of removing them',
        })
        .option('recover', { type: 'boolean', default: false, describe: 'Only complete the commits of killed runs, from the redo log' })
        .check(({ file, recover }) => (file === undefined) === recover || 'name a pipeline file, or --recover without one')
        .example('$0 run pipelines/leads-enriched.yaml', 'credentials come from the environment'),
    (arguments_) => runner(arguments_, (context) => run(arguments_, context)),
  );
}

async function run({ file, stateDir, ...rest }: RunArguments, context: CommandContext): Promise<number> {
  if (file !== undefined) return runFile({ file, stateDir, ...rest }, context);
  const { recoverRuns } = await import('../../index.js');
  const recovered = await recoverRuns(stateDir, context.cwd);
  context.console.log('info', recovered.length === 0 ? 'nothing to recover' : `recovered: ${recovered.join(', ')}`);
  return 0;
}

type FileArguments = Omit<RunArguments, 'file' | 'recover'> & { readonly file: string };

async function runFile({ file, set, report: reportFile, ...rest }: FileArguments, context: CommandContext): Promise<number> {
  const { loadPipelines, writesOver } = await import('../../index.js');
  const { overridesOf } = await import('../overrides.js');
  const { openReport } = await import('../report.js');
  const { endingOf, runSeries } = await import('../series.js');
  const { stateDir, restart, keepFailed, allowShrink, allowPartial } = rest;
  const options = { stateDir, restart, keepFailed, allowShrink, allowPartial };
  const overrides = overridesOf(set);
  let pipelines: readonly Pipeline[];
  try {
    pipelines = await loadPipelines(file, { env: context.env, cwd: context.cwd, set: overrides, stateDir });
  } catch (error) {
    await (await openReport(reportFile, context)).write(await endingOf(error, undefined, context));
    throw error;
  }
  for (const [what, path] of Object.entries({ 'the pipeline file': file, '--report': reportFile, '--env': context.envFile })) {
    const writer = path === undefined ? undefined : pipelines.find((pipeline) => writesOver(pipeline, resolve(context.cwd, path)));
    if (writer) throw new LeadstreamError('E_USAGE', `${what} ${path} is where the pipeline '${writer.name}' writes, or within`);
  }
  const report = await openReport(reportFile, context);
  const [only, ...others] = pipelines;
  if (only && others.length === 0) return runOne(only, context, options, report);
  const { endings, exit } = await runSeries(pipelines, context, options);
  await report.write({ status: exit === 0 ? 'published' : 'failed', pipelines: endings });
  return exit;
}

async function runOne(pipeline: Pipeline, context: CommandContext, options: RunFlags, report: ReportFile): Promise<number> {
  const { endingOf } = await import('../series.js');
  const { runAndReport } = await import('../reporting.js');
  try {
    const done = await runAndReport(pipeline, context, options);
    await report.write({ status: 'published', ...done });
    return 0;
  } catch (error) {
    const ending = await endingOf(error, pipeline, context);
    await report.write(ending);
    if (ending.status === 'closed') return 0;
    throw error;
  }
}
