import { command, filesNamed, toggle, loadOptionsOf, pipelineOptions, refuseUnknown, repeated } from '../command.js';
import type { ArgumentsOf, CommandContext, Parser } from '../command.js';
import { LeadstreamError, SpecError } from '../../core/index.js';
import type { Pipeline } from '../../index.js';
import { absolutePath, Stores } from '../../store/index.js';
import type { Metrics } from '../metrics.js';
import type { BrokenFile } from '../series.js';

const options = (yargs: Parser) =>
  pipelineOptions(yargs)
    .positional('files', { type: 'string', array: true, default: [] as string[], describe: 'Pipeline files (YAML)' })
    .option('only', { ...repeated, describe: 'Name of a pipeline to run, if there are several' })
    .option('report', { ...repeated, describe: 'File for the report: a page if it ends in .html, otherwise JSON' })
    .option('metrics', { type: 'string', describe: 'File of metrics for the node exporter of Prometheus, like leadstream.prom' })
    .option('state-dir', { type: 'string', default: '.leadstream', describe: 'Folder for spooled pages and the redo log' })
    .option('restart', { ...toggle, describe: 'Discard the pages of an interrupted run, and read everything again' })
    .option('allow-shrink', { ...toggle, describe: 'Publish once even if lists or outputs shrank more than allowed' })
    .option('allow-partial', { ...toggle, describe: 'Replace existing outputs even if a limit stops the read' })
    .option('accept-deletes', { ...toggle, describe: 'Publish once even if a merge deletes or changes more rows than allowed' })
    .option('wait', { type: 'string', describe: 'How long to wait while other runs hold outputs or spooled pages, like 10m' })
    .option('parallel', {
      type: 'number',
      default: 1,
      describe: 'How many pipelines run at a time; those that read the same list never do',
    })
    .option('recover', { ...toggle, describe: 'Only complete the commits of killed runs, from the redo log' })
    .check(({ files, recover }) => (files.length === 0) === recover || 'name a pipeline file, or --recover without one')
    .check(({ parallel }) => (Number.isInteger(parallel) && parallel >= 1) || '--parallel takes a whole number, at least 1')
    .example('$0 run pipelines/leads-enriched.yaml', 'credentials come from the environment')
    .example('$0 run pipelines/*.yaml --report report.json', 'one after another; a failure does not stop the others')
    .example('$0 run nightly.yaml --only nightly-users', 'one pipeline of several');

type Arguments = ArgumentsOf<typeof options>;

interface Loaded {
  readonly file: string;
  readonly pipeline: Pipeline;
}

export const run = command(
  'run [files..]',
  'Run the pipelines in files, one after another, and publish their outputs',
  options,
  async (arguments_, context) => {
    const { withMetrics } = await import('../metrics.js');
    if (!arguments_.recover) return withMetrics(arguments_.metrics, context, (metrics) => runLoaded(arguments_, context, metrics));
    const { recoverRuns } = await import('../../index.js');
    const recovered = await recoverRuns(arguments_.stateDir, context.cwd);
    context.console.log('info', recovered.length === 0 ? 'nothing to recover' : `recovered: ${recovered.join(', ')}`);
    return 0;
  },
);

async function runLoaded(arguments_: Arguments, context: CommandContext, metrics: Metrics | undefined): Promise<number> {
  const { duration, loadPipelines, prepareFetching, writesOver } = await import('../../index.js');
  prepareFetching();
  const { ReportFiles } = await import('../report.js');
  const { runSeries } = await import('../series.js');
  const { success, data: waitMs } = duration().safeParse(arguments_.wait ?? '0s');
  if (!success) throw new LeadstreamError('E_USAGE', '--wait takes a duration, like 10m');
  const { files: words, report: reportFiles, only, stateDir, restart, allowShrink, allowPartial, acceptDeletes } = arguments_;
  const { cwd, envFile } = context;
  const isWanted = (name: string) => only.length === 0 || only.includes(name);
  const loading = { ...(await loadOptionsOf(arguments_, context)), stateDir };
  const files = filesNamed(words, cwd);
  const loaded: Loaded[] = [];
  const broken: BrokenFile[] = [];
  // All problems are reported before the first request, and a bad file does not keep the others from running.
  for (const file of files) {
    try {
      for (const pipeline of await loadPipelines(file, loading)) loaded.push({ file, pipeline });
    } catch (failure) {
      broken.push({ file, failure });
      if (failure instanceof SpecError) metrics?.expect(failure.pipelines.filter(isWanted));
    }
  }
  // A named pipeline may be in an unreadable file, whose failure is then reported instead.
  const names = loaded.map(({ pipeline }) => pipeline.name);
  if (broken.length === 0) refuseUnknown('--only', 'pipeline', only, names);
  const wanted = loaded.filter(({ pipeline }) => isWanted(pipeline.name));
  const pipelines = wanted.map(({ pipeline }) => pipeline);
  const others = [
    ...files.map((file) => ({ what: 'the pipeline file', file })),
    ...reportFiles.map((file) => ({ what: '--report', file })),
    { what: '--env', file: envFile },
    { what: '--metrics', file: arguments_.metrics },
  ];
  for (const { what, file } of others) {
    const writer = file === undefined ? undefined : pipelines.find((pipeline) => writesOver(pipeline, absolutePath(cwd, file)));
    if (writer) throw new LeadstreamError('E_USAGE', `${what} ${file} is an output of the pipeline '${writer.name}', or inside it`);
  }
  refuseClashes(wanted, writesOver);
  metrics?.expect(pipelines.map(({ name }) => name));
  const report = await ReportFiles.open(reportFiles, context, new Stores(pipelines[0]?.store, context.signal));
  const flags = { stateDir, restart, allowShrink, allowPartial, acceptDeletes, waitMs };
  return runSeries(pipelines, context, flags, { broken, metrics, report, parallel: arguments_.parallel });
}

/** Those of one file were compared when it was loaded. */
function refuseClashes(loaded: readonly Loaded[], writesOver: (pipeline: Pipeline, path: string) => boolean): void {
  const prints = ({ plan }: Pipeline) => plan.sinks.some(({ definition }) => definition.prints);
  for (const [index, { file, pipeline }] of loaded.entries()) {
    const paths = [...pipeline.plan.sinks.map(({ output }) => output), pipeline.rejects.path].filter((path) => path !== undefined);
    for (const { file: place, pipeline: other } of loaded.slice(0, index).filter((each) => each.file !== file)) {
      const clashes = [
        // The state folder tells pipelines apart by their names.
        [other.name === pipeline.name, 'has the name of'],
        [paths.some((path) => writesOver(other, path)), 'writes to the same path as, or inside that of,'],
        [prints(pipeline) && prints(other), 'prints to stdout, which would mix its rows with those of'],
      ] as const;
      const [, what] = clashes.find(([isClash]) => isClash) ?? [];
      if (what !== undefined)
        throw new LeadstreamError('E_USAGE', `${file}: the pipeline '${pipeline.name}' ${what} '${other.name}' of ${place}`);
    }
  }
}
