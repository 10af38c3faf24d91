import {
  command,
  filesNamed,
  flag,
  loadOptionsOf,
  named,
  pipelineOptions,
  repeated,
  type ArgumentsOf,
  type CommandContext,
  type Parser,
} from '../command.js';
import type { Metrics } from '../metrics.js';

const options = (yargs: Parser) =>
  pipelineOptions(yargs)
    .positional('files', { type: 'string', array: true, default: [] as string[], describe: 'Pipeline files (YAML)' })
    .option('only', { ...repeated, describe: 'Name of a pipeline to run, if there are several' })
    .option('report', { ...repeated, describe: 'File for the report: a page if it ends in .html, otherwise JSON' })
    .option('metrics', { type: 'string', describe: 'File of metrics for the node exporter of Prometheus, like leadstream.prom' })
    .option('state-dir', { type: 'string', default: '.leadstream', describe: 'Folder of spooled pages and of the redo log' })
    .option('restart', { ...flag, describe: 'Read everything again, even if an interrupted run left pages' })
    .option('allow-shrink', { ...flag, describe: 'Publish this once even if lists or outputs shrank more than allowed' })
    .option('allow-partial', { ...flag, describe: 'Replace existing outputs even if a limit stops the read' })
    .option('recover', { ...flag, describe: 'Only complete the commits of killed runs, from the redo log' })
    .check(({ files, recover }) => (files.length === 0) === recover || 'name a pipeline file, or --recover without one')
    .example('$0 run pipelines/leads-enriched.yaml', 'credentials come from the environment')
    .example('$0 run pipelines/*.yaml --report report.json', 'one after another; a failure does not stop the others')
    .example('$0 run nightly.yaml --only nightly-users', 'one pipeline of several');

type Arguments = ArgumentsOf<typeof options>;

export const run = command(
  'run [files..]',
  'Run the pipelines of files, one after another, and publish their outputs',
  options,
  async (arguments_, context) => {
    if (!arguments_.recover) return runFiles(arguments_, context);
    const { recoverRuns } = await import('../../index.js');
    const recovered = await recoverRuns(arguments_.stateDir, context.cwd);
    context.console.log('info', recovered.length === 0 ? 'nothing to recover' : `recovered: ${recovered.join(', ')}`);
    return 0;
  },
);

async function runFiles(arguments_: Arguments, context: CommandContext): Promise<number> {
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
  arguments_: Arguments,
  context: CommandContext,
  metrics: Metrics | undefined,
  expected: string[],
): Promise<number> {
  const { refuseClashes, refuseWritingOver } = await import('../clashes.js');
  const { ReportFiles } = await import('../report.js');
  const { loadFiles, runSeries } = await import('../series.js');
  const { prepareFetching } = await import('../../source/index.js');
  // The fetching thread starts while the files are checked.
  prepareFetching();
  const { files, report: reportFiles, only, stateDir, restart, allowShrink, allowPartial } = arguments_;
  const { cwd, envFile } = context;
  const isWanted = (name: string) => only.length === 0 || only.includes(name);
  const loading = { ...(await loadOptionsOf(arguments_, context)), stateDir };
  const loaded = await loadFiles(filesNamed(files, cwd), loading, isWanted);
  const good = loaded.flatMap((file) => ('failure' in file ? [] : [file]));
  const all = good.flatMap(({ pipelines }) => pipelines);
  // A named pipeline may be in a file that could not be read. That failure is reported instead.
  if (good.length === loaded.length) named(all, only);
  const pipelines = all.filter(({ name }) => isWanted(name));
  refuseClashes(good.map((file) => ({ file: file.file, pipelines: file.pipelines.filter(({ name }) => isWanted(name)) })));
  const read = [...loaded.map(({ file }) => ({ what: 'the pipeline file', file })), { what: '--env', file: envFile }];
  const written = [...reportFiles.map((file) => ({ what: '--report', file })), { what: '--metrics', file: arguments_.metrics }];
  refuseWritingOver(pipelines, [...read, ...written], cwd);
  expected.push(...pipelines.map(({ name }) => name));
  const report = await ReportFiles.open(reportFiles, context);
  const flags = { stateDir, restart, allowShrink, allowPartial };
  return runSeries(pipelines, context, flags, { files: loaded, metrics, write: (document) => report.write(document) });
}
