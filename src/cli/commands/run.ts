import type { Argv } from 'yargs';
import type { Pipeline } from '../../index.js';
import { version } from '../../core/index.js';
import type { Metrics } from '../metrics.js';
import type { ReportFiles } from '../report/file.js';
import type { RunFlags } from '../reporting.js';
import type { LoadedFile } from '../run-files.js';
import type { SeriesEnd } from '../series.js';
import { loadOptionsOf, named, pipelineOptions, type PipelineArguments } from '../pipeline-options.js';
import { repeated, type CommandContext, type Runner } from '../context.js';

interface RunArguments extends PipelineArguments {
  readonly files: readonly string[];
  readonly only: readonly string[];
  readonly stateDir: string;
  readonly restart: boolean;
  readonly recover: boolean;
  readonly keepFailed: boolean;
  readonly allowShrink: boolean;
  readonly allowPartial: boolean;
  readonly report: readonly string[];
  readonly metrics: string | undefined;
}

/** Adds `leadstream run`. */
export function addRun(yargs: Argv, runner: Runner): Argv {
  return yargs.command(
    'run [files..]',
    'Run the pipelines of files, one after another, and publish their outputs',
    (options) =>
      pipelineOptions(options)
        .positional('files', { type: 'string', array: true, default: [], describe: 'Pipeline files (YAML), or patterns in quotes' })
        .option('only', { ...repeated, describe: 'Name of a pipeline to run, if there are several' })
        .option('report', { ...repeated, describe: 'File for the report: a page if it ends in .html, otherwise JSON' })
        .option('metrics', { type: 'string', describe: 'File of metrics for the node exporter of Prometheus, like leadstream.prom' })
        .option('state-dir', { type: 'string', default: '.leadstream', describe: 'Folder of spooled pages and of the redo log' })
        .option('restart', { type: 'boolean', default: false, describe: 'Read everything again, even if an interrupted run left pages' })
        .option('allow-shrink', {
          type: 'boolean',
          default: false,
          describe: 'Publish this once even if lists or outputs shrank more than allowed',
        })
        .option('allow-partial', {
          type: 'boolean',
          default: false,
          describe: 'Replace existing outputs even if a limit stops the read',
        })
        .option('keep-failed', {
          type: 'boolean',
          default: false,
          describe: 'Quarantine outputs that a gate refuses for inspection, instead of removing them',
        })
        .option('recover', { type: 'boolean', default: false, describe: 'Only complete the commits of killed runs, from the redo log' })
        .check(({ files, recover }) => (files.length === 0) === recover || 'name a pipeline file, or --recover without one')
        .example('$0 run pipelines/leads-enriched.yaml', 'credentials come from the environment')
        .example('$0 run pipelines/*.yaml --report report.json', 'one after another; a failure does not stop the others')
        .example('$0 run nightly.yaml --only nightly-users', 'one pipeline of several'),
    (arguments_) => runner(arguments_, (context) => run(arguments_, context)),
  );
}

async function run({ files, stateDir, ...rest }: RunArguments, context: CommandContext): Promise<number> {
  if (files.length > 0) return runFiles({ files, stateDir, ...rest }, context);
  const { recoverRuns } = await import('../../index.js');
  const recovered = await recoverRuns(stateDir, context.cwd);
  context.console.log('info', recovered.length === 0 ? 'nothing to recover' : `recovered: ${recovered.join(', ')}`);
  return 0;
}

async function runFiles(arguments_: Omit<RunArguments, 'recover'>, context: CommandContext): Promise<number> {
  const { Metrics } = await import('../metrics.js');
  const { descriptionOf } = await import('../failure.js');
  const { tellRefused } = await import('../refused.js');
  const metrics = arguments_.metrics === undefined ? undefined : await Metrics.open(arguments_.metrics, context);
  // The pipelines to run, as soon as they are known.
  const expected: string[] = [];
  try {
    const exit = await runLoaded(arguments_, context, metrics, expected);
    await metrics?.end(exit, expected);
    return exit;
  } catch (failure) {
    await metrics?.end(descriptionOf(failure).exit, expected);
    await tellRefused(failure, arguments_.only, context);
    throw failure;
  }
}

async function runLoaded(
  arguments_: Omit<RunArguments, 'recover'>,
  context: CommandContext,
  metrics: Metrics | undefined,
  expected: string[],
): Promise<number> {
  const { loadFiles, refuseClashes, refuseWritingOver } = await import('../run-files.js');
  const { ReportFiles } = await import('../report/file.js');
  const { refusedRun } = await import('../reporting.js');
  const { runSeries } = await import('../series.js');
  const { filesNamed, refuseMissing } = await import('../files.js');
  const { prepareFetching } = await import('../../source/index.js');
  // The fetching thread starts while the files are checked.
  prepareFetching();
  const { files, report: reportFiles, only, stateDir, restart, keepFailed, allowShrink, allowPartial } = arguments_;
  const options = { stateDir, restart, keepFailed, allowShrink, allowPartial };
  refuseMissing(files, context.cwd);
  const loading = { ...(await loadOptionsOf(arguments_, context)), stateDir };
  const loaded = await loadFiles(await filesNamed(files, context.cwd), loading, among(only));
  const [broken] = loaded.flatMap((file) => ('failure' in file ? [file] : []));
  if (broken && loaded.length === 1) {
    expected.push(...broken.names);
    await (await ReportFiles.open(reportFiles, context)).write(await refusedRun(broken.failure, context));
    throw broken.failure;
  }
  const pipelines = wanted(loaded, only, broken !== undefined);
  refuseClashes(
    loaded.flatMap((each) => ('failure' in each ? [] : { ...each, pipelines: each.pipelines.filter((one) => pipelines.includes(one)) })),
  );
  const written = [...reportFiles.map((file) => ({ what: '--report', file })), { what: '--metrics', file: arguments_.metrics }];
  const read = [...loaded.map(({ file }) => ({ what: 'the pipeline file', file })), { what: '--env', file: context.envFile }];
  refuseWritingOver(pipelines, [...read, ...written], context.cwd);
  expected.push(...pipelines.map(({ name }) => name));
  const report = await ReportFiles.open(reportFiles, context);
  const [single, ...others] = pipelines;
  if (single && others.length === 0 && !broken) return runOne(single, context, options, { report, metrics });
  const write = ({ endings, exit }: SeriesEnd) =>
    report.write({ status: exit === 0 ? 'published' : 'failed', version, exit, pipelines: endings });
  const end = await runSeries(pipelines, context, options, { files: loaded, only, metrics, early: write });
  await write(end);
  return end.exit;
}

/** Returns the pipelines to run. @throws {LeadstreamError} `E_USAGE` for names that no pipeline has. */
function wanted(loaded: readonly LoadedFile[], only: readonly string[], isBroken: boolean): readonly Pipeline[] {
  const all = loaded.flatMap((file) => ('pipelines' in file ? file.pipelines : []));
  // A named pipeline may be in a file that could not be read. That failure is reported instead.
  return isBroken ? all.filter(({ name }) => among(only)(name)) : named(all, only);
}

/** Whether a pipeline is selected: `--only` names it or is not given. */
function among(only: readonly string[]): (pipeline: string) => boolean {
  return (pipeline) => only.length === 0 || only.includes(pipeline);
}

async function runOne(
  pipeline: Pipeline,
  context: CommandContext,
  options: RunFlags,
  { report, metrics }: { readonly report: ReportFiles; readonly metrics: Metrics | undefined },
): Promise<number> {
  const { reportedRun } = await import('../reporting.js');
  const { document, failure } = await reportedRun(pipeline, context, options, metrics, (known) => report.write(known));
  await report.write(document);
  if (failure) throw failure.thrown;
  return 0;
}
