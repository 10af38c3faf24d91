import type { Argv } from 'yargs';
import { collectionNames, type Collection, type CollectionName } from '../../collections/index.js';
import { LeadstreamError } from '../../core/index.js';
import type { ConnectOptions, Diagnosis, DiagnosisFinding } from '../../index.js';
import { painterFor, type Painter, type Tone } from '../colour.js';
import { loadOne, pipelineOptions, type PipelineArguments } from '../pipeline-options.js';
import type { CommandContext, Runner } from '../context.js';
import { print } from '../streams.js';

interface DoctorArguments extends PipelineArguments {
  readonly file: string | undefined;
  readonly collection: CollectionName | undefined;
  readonly format: 'text' | 'json';
  readonly rateLimit: number;
  readonly only: string | undefined;
}

/** Adds `leadstream doctor`. */
export function addDoctor(yargs: Argv, runner: Runner): Argv {
  return yargs.command(
    'doctor [file]',
    'Measure the service with at most 60 requests, and print its service block',
    (options) =>
      pipelineOptions(options)
        .positional('file', {
          type: 'string',
          describe: 'Pipeline file (YAML) whose service is measured; default: the service of the environment',
        })
        .option('collection', { choices: collectionNames, describe: 'Collection whose pages are measured first' })
        .option('format', { choices: ['text', 'json'] as const, default: 'text' as const, describe: 'Findings for people, or JSON' })
        .option('rate-limit', {
          type: 'number',
          default: 10,
          describe: 'Most requests per second; a lower rate_limit in the file takes precedence',
        })
        .option('only', { type: 'string', describe: 'Name of the pipeline, if the file has several' })
        .check(({ 'rate-limit': rate }) => (Number.isFinite(rate) && rate > 0) || '--rate-limit takes a number above 0')
        .example('$0 doctor', 'the service of LEADSTREAM_BASE_URL and the key variables')
        .example('$0 doctor leads.yaml --format json', 'the service of a pipeline file'),
    (arguments_) => runner(arguments_, (context) => doctor(arguments_, context)),
  );
}

async function doctor(arguments_: DoctorArguments, context: CommandContext): Promise<number> {
  const { diagnoseService } = await import('../../index.js');
  const { watchers } = await import('../reporting.js');
  const { console, signal, stdout } = context;
  const { connection, service, collections } = await subjectOf(arguments_, context);
  const first = arguments_.collection;
  const asked = [...new Set([...(first ? [first] : []), ...collections])];
  const options = { service, collections: asked, ratePerSecond: arguments_.rateLimit, signal, watch: watchers(console) };
  console.log('info', `measuring ${connection.baseUrl} with at most 60 requests`);
  const diagnosis = await diagnoseService(connection, options);
  const text =
    arguments_.format === 'json' ? `${JSON.stringify(diagnosis, undefined, 2)}\n` : textOf(diagnosis, painterFor(stdout, context.env));
  await print(stdout, console.redact(text));
  if (diagnosis.ready) return 0;
  throw new LeadstreamError('E_SERVICE_UNKNOWN', missingIn(diagnosis));
}

/** What is measured: the connection, its service block in a file, and the collections of interest. */
interface Subject {
  readonly connection: ConnectOptions<Collection>;
  readonly service: Readonly<Record<string, unknown>>;
  readonly collections: readonly string[];
}

async function subjectOf(arguments_: DoctorArguments, context: CommandContext): Promise<Subject> {
  const { file, only, set, plugin } = arguments_;
  if (file !== undefined) return fileSubject({ ...arguments_, file }, context);
  if (only !== undefined || set.length + plugin.length > 0) throw new LeadstreamError('E_USAGE', '--only, --set and --plugin need a file');
  const { connectionFromEnvironment } = await import('../../index.js');
  const connection = connectionFromEnvironment(context.env);
  if ('missing' in connection) {
    const message = `doctor without a file takes the service and its key from the environment, which must set ${connection.missing}`;
    throw new LeadstreamError('E_SPEC_REFERENCE', message);
  }
  return { connection, service: environmentBlock(connection), collections: collectionNames };
}

async function fileSubject(arguments_: DoctorArguments & { readonly file: string }, context: CommandContext): Promise<Subject> {
  const { connection, service, plan } = await loadOne(arguments_, context);
  const own = plan.reads.flatMap((name) => plan.collections[name] ?? []).filter(({ served }) => served !== undefined);
  // The collection that is read first comes first, then the others in the order of the service's documentation.
  const collections = [plan.collection.name, ...collectionNames.filter((name) => plan.reads.includes(name)), ...plan.reads];
  const hasAddress = service['base_url'] !== undefined;
  return {
    connection: { ...connection, collections: own },
    service: hasAddress ? service : { ...environmentBlock(connection), ...service },
    collections,
  };
}

/** Returns the service block of a file for the service in the environment. */
function environmentBlock({ auth }: ConnectOptions): Readonly<Record<string, unknown>> {
  const keys = Object.keys(auth).map((key) => [key, `\${LEADSTREAM_${key.toUpperCase()}}`]);
  return { base_url: '${LEADSTREAM_BASE_URL}', auth: Object.fromEntries(keys) };
}

const tones: Readonly<Record<DiagnosisFinding['outcome'], Tone>> = { ok: 'good', note: 'beware', unknown: 'beware', problem: 'bad' };

function textOf({ service, requests, maxRequests, ratePerSecond, measured, findings, block }: Diagnosis, paint: Painter): string {
  const pages = measured === undefined ? '' : `; pages of ${measured}`;
  const head = `${service}: ${requests} of at most ${maxRequests} requests, at most ${ratePerSecond}/s${pages}\n`;
  const told = findings.map(({ check, outcome, message, evidence }) => {
    const sent = evidence.map(({ request, answer, ms }) => paint('aside', `           ${request} -> ${answer}, ${ms} ms\n`));
    return `\n${paint(tones[outcome], outcome)}${' '.repeat(9 - outcome.length)}${nameOf(check)}: ${message}\n${sent.join('')}`;
  });
  const end = block === undefined ? 'No service block: not all that it needs is known.\n' : `For the pipeline file:\n\n${block}`;
  return `${head}${told.join('')}\n${end}`;
}

function nameOf(check: DiagnosisFinding['check']): string {
  return check.replaceAll('_', ' ');
}

/** Returns what keeps the block from being made, without what was left open because of it. */
function missingIn({ findings }: Diagnosis): readonly string[] {
  const open = findings.filter(({ outcome }) => outcome === 'problem' || outcome === 'unknown');
  return open
    .filter(({ evidence }, index) => index === 0 || evidence.length > 0)
    .map(({ check, message }) => `${nameOf(check)}: ${message}`);
}
