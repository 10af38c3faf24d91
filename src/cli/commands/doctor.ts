import { collectionNames, partsOfList } from '../../collections/index.js';
import { amountOf, LeadstreamError } from '../../core/index.js';
import type { Diagnosis } from '../../doctor/index.js';
import type { ConnectOptions } from '../../index.js';
import { command, connectionOf, loadOne, onlyPipeline, pipelineOptions, textOrJson } from '../command.js';
import type { ArgumentsOf, CommandContext, Parser } from '../command.js';
import { printTo } from '../console.js';

const options = (yargs: Parser) =>
  pipelineOptions(yargs)
    .positional('file', {
      type: 'string',
      describe: 'Pipeline file (YAML) whose service is measured; default: the service in the environment',
    })
    .option('collection', { choices: collectionNames, describe: 'Collection whose pages are measured first' })
    .option('format', { ...textOrJson, describe: 'Findings for people, or JSON' })
    .option('rate-limit', {
      type: 'number',
      default: 10,
      describe: 'Maximum requests per second; a lower rate_limit in the file takes precedence',
    })
    .option('only', onlyPipeline)
    .example('$0 doctor', 'the service of LEADSTREAM_BASE_URL and the key variables')
    .example('$0 doctor leads.yaml --format json', 'the service of a pipeline file');

export const doctor = command(
  'doctor [file]',
  'Measure the service with at most 60 requests, and print its service block',
  options,
  async (arguments_, context) => {
    const { diagnoseService } = await import('../../doctor/index.js');
    const { standaloneSink } = await import('../../index.js');
    const { watchers } = await import('../watchers.js');
    const { console, signal, stdout } = context;
    const { subjects, plan } = await subjectsOf(arguments_, context);
    const { collection: first, rateLimit: ratePerSecond, format } = arguments_;
    const all: Diagnosis[] = [];
    for (const { name, connection, service, collections } of subjects) {
      const preferred = first && (name === '' ? first : `${name}.${first}`);
      const measured = [...new Set([...(preferred ? [preferred] : []), ...collections])];
      console.log('info', `measuring ${connection.baseUrl} with at most 60 requests`);
      const options = { name, service, collections: measured, ratePerSecond, signal, watch: watchers(console) };
      all.push(await diagnoseService(connection, options));
    }
    const json = () => `${JSON.stringify(subjects.length === 1 ? all[0] : all, undefined, 2)}\n`;
    await printTo(stdout, console.redact(format === 'json' ? json() : all.map(textOf).join('\n')));
    for (const { place, definition, config } of plan?.sinks ?? []) {
      if (!plan || place === undefined) continue;
      // As a run does before it reads, which refuses what it cannot write.
      const writer = await definition.open(config, standaloneSink(place, { planned: plan.columns(), key: plan.collection.key }));
      await writer.abort();
      const state = writer.earlier ? `run ${writer.earlier.runId} left ${amountOf(writer.earlier.rows, 'row')}` : 'no run has written it';
      console.log('info', `${place}: can be written; ${state}`);
    }
    const open = all.filter(({ ready }) => !ready);
    if (open.length === 0) return 0;
    throw new LeadstreamError('E_SERVICE_UNKNOWN', open.flatMap(missingIn));
  },
);

async function subjectsOf(arguments_: ArgumentsOf<typeof options>, context: CommandContext) {
  const { file, only, set, plugin } = arguments_;
  if (file === undefined) {
    if (only !== undefined || set.length + plugin.length > 0)
      throw new LeadstreamError('E_USAGE', '--only, --set and --plugin need a file');
    const connection = await connectionOf('doctor without a file', context);
    const subject = { name: '', connection, service: environmentBlock(connection), collections: collectionNames };
    return { subjects: [subject], plan: undefined };
  }
  const { services, plan } = await loadOne({ ...arguments_, file }, context);
  const subjects = Object.entries(services).map(([name, { connection, service }]) => {
    const isIts = (list: string) => partsOfList(list)[0] === name;
    const reads = plan.reads.filter(isIts);
    const isMeasured = (list: string) => (reads.length > 0 ? reads.includes(list) : isIts(list));
    const lists = Object.values(plan.collections).filter((list) => isMeasured(list.name));
    return {
      name,
      connection: { ...connection, collections: lists },
      service: { ...environmentBlock(connection), ...service },
      // The pipeline's own collection first, then the others in the order of the service's documentation.
      collections: [...reads.slice(0, 1), ...lists.map((list) => list.name)],
    };
  });
  return { subjects, plan };
}

function environmentBlock({ auth }: ConnectOptions): Readonly<Record<string, unknown>> {
  const keys = Object.keys(auth).map((key) => [key, `\${LEADSTREAM_${key.toUpperCase()}}`]);
  return { base_url: '${LEADSTREAM_BASE_URL}', auth: Object.fromEntries(keys) };
}

function textOf({ service, requests, maxRequests, ratePerSecond, measured, findings, block }: Diagnosis): string {
  const pages = measured === undefined ? '' : `; pages of ${measured}`;
  const head = `${service}: ${requests} of at most ${maxRequests} requests, at most ${ratePerSecond}/s${pages}\n`;
  const blocks = findings.map(({ check, outcome, message, evidence }) => {
    const sent = evidence.map(({ request, answer, ms }) => `           ${request} -> ${answer}, ${ms} ms\n`);
    return `\n${outcome.padEnd(9)}${check.replaceAll('_', ' ')}: ${message}\n${sent.join('')}`;
  });
  const end = block === undefined ? 'No service block: some of what it needs is unknown.\n' : `For the pipeline file:\n\n${block}`;
  return `${head}${blocks.join('')}\n${end}`;
}

function missingIn({ findings }: Diagnosis): readonly string[] {
  const open = findings.filter(({ outcome }) => outcome === 'problem' || outcome === 'unknown');
  return open
    .filter(({ evidence }, index) => index === 0 || evidence.length > 0)
    .map(({ check, message }) => `${check.replaceAll('_', ' ')}: ${message}`);
}
