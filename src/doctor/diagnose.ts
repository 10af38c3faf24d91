import { collectionNames, collections as known, type Collection, type CollectionName } from '../collections/index.js';
import { createRedactor, LeadstreamError } from '../core/index.js';
import { connectionId, Events, watchersProblem } from '../events/index.js';
import { proxyFor, proxySecrets, secretsOf } from '../http/index.js';
import { abortSignal, anyObject, checkUsage, defaults, judged, listOf, number, object, oneOf } from '../options/index.js';
import { checkConnection, type ConnectOptions } from '../source/index.js';
import { CapSearch } from './cap.js';
import { measureConcurrency } from './concurrency.js';
import { checks, type Check, type Diagnosis } from './diagnosis.js';
import { Findings } from './findings.js';
import { findFirstPage } from './first-page.js';
import { findEnd, findOrder, findSingle } from './list-behaviour.js';
import { findSubject } from './lists.js';
import { formsOf, reach } from './reach.js';
import { Requester } from './requester.js';
import { writtenBlock, type ServiceBlock } from './service-block.js';
import { measureLatency } from './speed.js';
import type { DiagnoseOptions } from './diagnosis.js';

/** Most requests of a diagnosis. */
const maxRequests = 60;
/** Requests per second, where nothing is said. */
const usualRate = 10;
/** How long an answer may take to begin, where nothing is said. */
const usualTimeoutMs = 10_000;

/** What has to be known, and be no problem, for the block to be right. */
const needed: readonly Check[] = ['reachable', 'credentials', 'collections', 'first_page', 'limit', 'end_of_list', 'order'];

const taken = object({
  collections: listOf(oneOf(collectionNames)),
  ratePerSecond: number({ above: 0 }),
  service: anyObject,
  signal: abortSignal,
  watch: judged(watchersProblem),
});

/** Measures a service; see `diagnoseService`. */
export async function diagnose(connection: ConnectOptions, options: DiagnoseOptions): Promise<Diagnosis> {
  checkConnection(connection);
  checkUsage('diagnoseService', taken, options);
  const { collections = collectionNames, signal } = options;
  const [first, ...others] = collections.map((name): Collection => known[name]);
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
  const { findings, wanted, ...measured } = examination.result();
  const ready =
    wanted !== undefined && findings.every(({ check, outcome }) => !needed.includes(check) || outcome === 'ok' || outcome === 'note');
  return {
    service: baseUrl,
    requests: asking.sent,
    maxRequests,
    ratePerSecond,
    ready,
    findings,
    ...measured,
    block: ready ? writtenBlock({ given: options.service ?? {}, ...wanted }) : undefined,
  };
}

/** What is found out of a service, one point after the other. */
class Examination {
  readonly #findings = new Findings();
  #measured: CollectionName | undefined;
  #latency: Diagnosis['latency'] = [];
  #concurrency: Diagnosis['concurrency'] = [];
  #wanted: Omit<ServiceBlock, 'given'> | undefined;

  constructor(
    private readonly asking: Requester,
    private readonly ratePerSecond: number,
  ) {}

  result() {
    return {
      findings: this.#findings.all,
      measured: this.#measured,
      latency: this.#latency,
      concurrency: this.#concurrency,
      wanted: this.#wanted,
    };
  }

  /** Finds out what it can; what it cannot is `unknown`, with the reason. */
  async carryOut(collections: readonly [Collection, ...Collection[]], forms: ReturnType<typeof formsOf>): Promise<void> {
    const why = await this.#examine(collections, forms);
    this.#findings.unknownRest(checks, why ?? this.asking.exhausted);
  }

  /** @returns Why something is left open. */
  async #examine(collections: readonly [Collection, ...Collection[]], forms: ReturnType<typeof formsOf>): Promise<string | undefined> {
    const [asking, findings] = [this.asking, this.#findings];
    const form = await reach(asking, findings, collections, forms);
    if (!form) return 'the service could not be read at all';
    asking.auth = form.auth;
    const subject = await findSubject(asking, findings, collections);
    if (!subject) return 'no collection that is paged gave a row';
    // Those that are measured are of the service, and of its names.
    this.#measured = collectionNames.find((name) => name === subject.collection.name);
    const pages = await findFirstPage(asking, findings, subject);
    if (!pages) return 'that needs to know how the list is paged';
    const limit = await new CapSearch(asking, findings, subject, pages).limit();
    if (limit === undefined) return 'that needs to know how long pages may be';
    await findEnd(asking, findings, subject, pages, limit);
    await findOrder(asking, findings, subject, pages, limit);
    await findSingle(asking, findings, subject, pages);
    this.#latency = await measureLatency(asking, findings, subject, pages, limit);
    const { measured, bearable } = await measureConcurrency(asking, findings, subject, { pages, limit, ratePerSecond: this.ratePerSecond });
    this.#concurrency = measured;
    this.#wanted = { firstPage: pages.firstPage, limit, concurrency: bearable, otherKey: form.remark };
    return undefined;
  }
}
