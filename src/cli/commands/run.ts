import type { Argv } from 'yargs';
import type { Metrics } from '../metrics.js';
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
  const metrics = arguments_.metrics === undefined ? undefined : await Metrics.open(arguments_.metrics, context);
  // The pipelines to run, as soon as they are known.
  const expected: string[] = [];
  try {
    const exit = await runLoaded(arguments_, context, metrics, expected);
    await metrics?.end(exit, expected);
    return exit;
  } catch (failure) {
    await metrics?.end(descriptionOf(failure).exit, expected);
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
  const { runSeries } = await import('../series.js');
  const { filesNamed } = await import('../files.js');
  const { prepareFetching } = await import('../../source/index.js');
  // The fetching thread starts while the files are checked.
  prepareFetching();
  const { files, report: reportFiles, only, stateDir, restart, keepFailed, allowShrink, allowPartial } = arguments_;
  const { cwd, envFile } = context;
  const isWanted = (name: string) => only.length === 0 || only.includes(name);
  const loading = { ...(await loadOptionsOf(arguments_, context)), stateDir };
  const loaded = await loadFiles(await filesNamed(files, cwd), loading, isWanted);
  const good = loaded.flatMap((file) => ('failure' in file ? [] : [file]));
  // A named pipeline may be in a file that could not be read. That failure is reported instead.
  if (good.length === loaded.length)
    named(
      good.flatMap(({ pipelines }) => pipelines),
      only,
    );
  const wanted = good.map(({ file, pipelines }) => ({ file, pipelines: pipelines.filter(({ name }) => isWanted(name)) }));
  const pipelines = wanted.flatMap((file) => file.pipelines);
  refuseClashes(wanted);
  const read = [...loaded.map(({ file }) => ({ what: 'the pipeline file', file })), { what: '--env', file: envFile }];
  const written = [...reportFiles.map((file) => ({ what: '--report', file })), { what: '--metrics', file: arguments_.metrics }];
  refuseWritingOver(pipelines, [...read, ...written], cwd);
  expected.push(...pipelines.map(({ name }) => name));
  const report = await ReportFiles.open(reportFiles, context);
  const options = { stateDir, restart, keepFailed, allowShrink, allowPartial };
  return runSeries(pipelines, context, options, { files: loaded, only, metrics, write: (document) => report.write(document) });
}
