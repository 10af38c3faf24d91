import { amount, amountOf, LeadstreamError } from '../../core/index.js';
import { closing, Stores } from '../../store/index.js';
import { command, loadOne, onlyPipeline, pipelineFile, pipelineOptions, repeated, toggle, type Parser } from '../command.js';
import { printTo } from '../console.js';

const common = (yargs: Parser) =>
  pipelineOptions(yargs)
    .positional('file', pipelineFile)
    .option('only', onlyPipeline)
    .option('state-dir', { type: 'string', default: '.leadstream', describe: 'Folder of this machine for what is not stored yet' });

const ofPlan = (yargs: Parser) =>
  common(yargs).positional('plan', { type: 'string', demandOption: true, describe: 'Folder of the plan, as plan printed it' });

const plan = command(
  'plan <file>',
  'Begin a run that several processes share, and print the folder of its plan',
  (yargs) =>
    common(yargs)
      .option('shards', { type: 'number', demandOption: true, describe: 'Number of parts, each read by a process of its own' })
      .option('parallel', { type: 'number', describe: 'Shards that run at a time, and share rate and concurrency. Default: all' })
      .option('work', { type: 'string', demandOption: true, describe: 'Folder of plans: s3://BUCKET/NAME, or one that all machines share' })
      .example('$0 plan leads.yaml --shards 4 --work s3://lake/work', 'then shard 0 to 3, then commit'),
  async (arguments_, context) => {
    const { planShards } = await import('../../index.js');
    const { watchers } = await import('../watchers.js');
    const { shards, parallel = shards, work, stateDir } = arguments_;
    for (const [name, value] of Object.entries({ shards, parallel }))
      if (!Number.isInteger(value) || value < 1 || value > 1000)
        throw new LeadstreamError('E_USAGE', `--${name} takes a number from 1 to 1000`);
    const { console, signal, stdout } = context;
    const pipeline = await loadOne(arguments_, context);
    const planned = await planShards(pipeline, { shards, parallel, work, stateDir, signal, watch: watchers(console) });
    const { rows, limit, ranges, folder } = planned;
    const requests = Math.ceil(rows / limit);
    const { ratePerSecond: rate = Infinity } = pipeline.connection;
    const facts = [`${amountOf(rows, 'row')}, ${amount(limit)} a page`, amountOf(ranges.length, 'shard'), amountOf(requests, 'request')];
    const seconds = amountOf(Math.ceil(requests / rate), 'second');
    if (Number.isFinite(rate)) facts.push(`${amount(rate)} requests per second take ${seconds} on any number of machines`);
    console.log('info', facts.join('; '));
    await printTo(stdout, `${folder}\n`);
    return 0;
  },
);

const shard = command(
  'shard <file> <plan> [index]',
  'Read and write one part of a planned run',
  (yargs) =>
    ofPlan(yargs)
      .positional('index', { type: 'number', describe: 'From 0. Default: JOB_COMPLETION_INDEX or AWS_BATCH_JOB_ARRAY_INDEX' })
      .example('$0 shard leads.yaml s3://lake/work/RUN 0', 'the first one'),
  async (arguments_, context) => {
    const { openShard, runPipeline } = await import('../../index.js');
    const { watchers } = await import('../watchers.js');
    const { console, env, signal, stdout } = context;
    const { JOB_COMPLETION_INDEX: ofKubernetes, AWS_BATCH_JOB_ARRAY_INDEX: ofBatch } = env;
    const given = arguments_.index ?? ofKubernetes ?? ofBatch;
    if (!/^\d+$/.test(String(given))) throw new LeadstreamError('E_USAGE', 'name a shard by its index, from 0');
    const index = Number(given);
    const { stateDir } = arguments_;
    const pipeline = await loadOne(arguments_, context);
    const opened = await openShard(pipeline, arguments_.plan, index, { signal, stateDir });
    if (!opened) {
      console.log('info', `shard ${index}: nothing is left to do`);
      return 0;
    }
    const options = { part: opened.part, stateDir, signal, stdout, watch: watchers(console) };
    const { read } = await closing(opened, () => runPipeline(opened.pipeline, options));
    console.log('info', `shard ${index}: ${amountOf(read, 'row')}`);
    return 0;
  },
);

const commit = command(
  'commit <file> <plan>',
  'Read what is between the shards of a planned run and after them, and publish everything in one commit',
  (yargs) =>
    ofPlan(yargs)
      .option('report', { ...repeated, describe: 'File for the report: a page if it ends in .html, otherwise JSON' })
      .option('metrics', { type: 'string', describe: 'File of metrics for the node exporter of Prometheus, like leadstream.prom' })
      .option('allow-shrink', { ...toggle, describe: 'Publish once even if lists or outputs shrank more than allowed' })
      .example('$0 commit leads.yaml s3://lake/work/RUN', 'once all shards have succeeded'),
  async (arguments_, context) => {
    const { committed, openCommit, summaryOf } = await import('../../index.js');
    const { withMetrics } = await import('../metrics.js');
    const { ReportFiles } = await import('../report.js');
    const { runSeries } = await import('../series.js');
    const { signal, console } = context;
    const { plan: place, stateDir, allowShrink } = arguments_;
    const pipeline = await loadOne(arguments_, context);
    const isCommitted = async () => {
      const report = await committed(pipeline, place, { signal, stateDir });
      if (report === undefined) return false;
      console.log('info', typeof report === 'string' ? `committed by run ${report}` : summaryOf(report).split('\n'));
      return true;
    };
    if (await isCommitted()) return 0;
    const exit = await withMetrics(arguments_.metrics, context, async (metrics) => {
      metrics?.expect([pipeline.name]);
      const report = await ReportFiles.open(arguments_.report, context, new Stores(pipeline.store, signal));
      const opened = await openCommit(pipeline, place, { signal, stateDir });
      const flags = { stateDir, allowShrink, part: opened.part };
      return closing(opened, () => runSeries([opened.pipeline], context, flags, { broken: [], metrics, report }));
    });
    // Another commit may have been faster.
    return exit !== 0 && (await isCommitted()) ? 0 : exit;
  },
);

export const shardCommands = [plan, shard, commit];
