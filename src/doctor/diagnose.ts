import type { Collection } from '../collections/index.js';
import { createRedactor, LeadstreamError } from '../core/index.js';
import { connectionId, Events, watchersProblem } from '../events/index.js';
import { proxyFor, proxySecrets, secretsOf } from '../http/index.js';
import { abortSignal, anyObject, checkUsage, defaults, judged, listOf, number, object, oneOf } from '../options/index.js';
import { checkConnection, collectionIn, registryOf, type ConnectOptions } from '../source/index.js';
import type { Check, DiagnoseOptions, Diagnosis } from './diagnosis.js';
import { Examination } from './examination.js';
import { formsOf } from './reach.js';
import { Requester } from './requester.js';
import { writtenBlock } from './service-block.js';

/** Maximum number of requests of a diagnosis. */
const maxRequests = 60;
/** Default requests per second. */
const usualRate = 10;
/** Default time for an answer to begin. */
const usualTimeoutMs = 10_000;

/** The checks that must have a result other than `problem` for the block to be correct. */
const needed: readonly Check[] = ['reachable', 'credentials', 'collections', 'first_page', 'limit', 'end_of_list', 'order'];

const taken = { ratePerSecond: number({ above: 0 }), service: anyObject, signal: abortSignal, watch: judged(watchersProblem) };

/** Measures a service; see `diagnoseService`. */
export async function diagnose(connection: ConnectOptions<Collection>, options: DiagnoseOptions<Collection>): Promise<Diagnosis> {
  checkConnection(connection);
  const registry = registryOf(connection.collections);
  checkUsage('diagnoseService', object({ ...taken, collections: listOf(oneOf(Object.keys(registry))) }), options);
  const { collections = Object.keys(registry), signal } = options;
  const [first, ...others] = [...new Set(collections)].map((name) => collectionIn(registry, name));
  if (!first) throw new LeadstreamError('E_USAGE', 'diagnoseService: collections must name at least one');
  const ratePerSecond = Math.min(options.ratePerSecond ?? usualRate, connection.ratePerSecond ?? Infinity);
  const baseUrl = connection.baseUrl.replace(/\/+$/, '');
  const { agent } = connection;
  const proxy = proxyFor(baseUrl, agent ? false : connection.proxy);
  const forms = formsOf(connection.auth);
  const redact = createRedactor([...forms.flatMap(({ auth }) => secretsOf(auth)), ...proxySecrets(proxy), ...(connection.secrets ?? [])]);
  const { timeoutMs = usualTimeoutMs, maxBodyBytes = defaults.maxBodyBytes } = connection;
  const ca = connection.ca === undefined ? undefined : [connection.ca].flat();
  const asking = new Requester(
    {
      connection: { baseUrl, timeoutMs, maxBodyBytes, proxy, ca, agent },
      ...{ maxRequests, ratePerSecond, signal, redact },
      events: new Events(connectionId(), redact, options.watch),
    },
    connection.auth,
  );
  const examination = new Examination(asking, ratePerSecond);
  try {
    await examination.carryOut([first, ...others], forms);
  } finally {
    await asking.close();
  }
  const { wanted, measured, latency, concurrency } = examination;
  const findings = examination.findings.all;
  const ready =
    wanted !== undefined && findings.every(({ check, outcome }) => !needed.includes(check) || outcome === 'ok' || outcome === 'note');
  return {
    service: baseUrl,
    requests: asking.sent,
    maxRequests,
    ratePerSecond,
    ready,
    ...{ findings, measured, latency, concurrency },
    block: ready ? writtenBlock({ given: options.service ?? {}, ...wanted }) : undefined,
  };
}
