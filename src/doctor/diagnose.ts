import { stringify } from 'yaml';
import type { Collection } from '../collections/index.js';
import { LeadstreamError } from '../core/index.js';
import { watchersProblem } from '../events/index.js';
import { abortSignal, anyObject, checkUsage, defaults, judged, listOf, number, object, oneOf } from '../options/index.js';
import { checkConnection, collectionIn, registryOf, type ConnectOptions } from '../source/index.js';
import { findCollections, findCredentials, type CredentialForm } from './access.js';
import type { Check, DiagnoseOptions, Diagnosis, DiagnosisFinding } from './diagnosis.js';
import { findEnd, findLatency, findOrder, findPaging, findSingle, lookAt } from './list.js';
import { maxRequests, Probe } from './probe.js';

/** Default requests per second. */
const usualRate = 10;

/** The checks of a service, in order; the first two do not depend on its lists. */
const serviceChecks = [
  ...(['reachable', 'credentials'] as const),
  ...(['collections', 'first_page', 'limit', 'end_of_list', 'order', 'single_record', 'latency'] as const),
];
/** The checks without which a run may still be possible. */
const optional: readonly Check[] = ['single_record', 'latency'];

const taken = { ratePerSecond: number({ above: 0 }), service: anyObject, signal: abortSignal, watch: judged(watchersProblem) };

/** Measures a service; see `diagnoseService`. */
export async function diagnose(connection: ConnectOptions<Collection>, options: DiagnoseOptions<Collection>): Promise<Diagnosis> {
  checkConnection(connection);
  const registry = registryOf(connection.collections);
  checkUsage('diagnoseService', object({ ...taken, collections: listOf(oneOf(Object.keys(registry))) }), options);
  const names = new Set(options.collections ?? Object.keys(registry));
  if (names.size === 0) throw new LeadstreamError('E_USAGE', 'diagnoseService: collections must name at least one');
  const collections = [...names].map((name) => collectionIn(registry, name));
  const ratePerSecond = Math.min(options.ratePerSecond ?? usualRate, connection.ratePerSecond ?? Infinity);
  const probe = new Probe(connection, { ...options, ratePerSecond });
  try {
    const found = await examine(probe, connection, collections);
    const isOpen = ({ check, outcome }: DiagnosisFinding) => !optional.includes(check) && (outcome === 'problem' || outcome === 'unknown');
    const ready = !probe.findings.some(isOpen);
    return {
      ...{ service: connection.baseUrl.replace(/\/+$/, ''), requests: probe.sent, maxRequests, ratePerSecond, ready },
      ...{ findings: probe.findings, measured: found.measured },
      block: ready ? blockOf(options.service ?? {}, found) : undefined,
    };
  } finally {
    await probe.close();
  }
}

/** What was found out, as far as it goes into the block and the results. */
interface Found {
  readonly form: CredentialForm | undefined;
  readonly measured: string | undefined;
  readonly firstPage: number | undefined;
  readonly limit: number | undefined;
}

async function examine(probe: Probe, connection: ConnectOptions<Collection>, collections: readonly Collection[]): Promise<Found> {
  const standard = collections.filter(({ served }) => served === undefined);
  const form = await findCredentials(probe, collections, connection.auth);
  const list = form && standard.length > 0 ? await findCollections(probe, standard) : undefined;
  const paged = list && (await findPaging(probe, list));
  if (paged) {
    await probe.check('end_of_list', async () => probe.add('end_of_list', ...(await findEnd(probe, list, paged))));
    await probe.check('order', () => findOrder(probe, list, paged));
    await probe.check('single_record', () => findSingle(probe, list, paged));
    await probe.check('latency', () => findLatency(probe, list, paged));
  }
  let limit = paged?.limit;
  for (const collection of form ? collections.filter(({ served }) => served !== undefined) : []) {
    const limits = [...(limit === undefined ? [] : [limit]), connection.limit ?? defaults.limit];
    const accepted = await probe.check('declared_list', () => lookAt(probe, collection, paged?.firstPage, limits));
    if (paged && accepted !== undefined) limit = Math.min(limit ?? accepted, accepted);
  }
  for (const check of standard.length > 0 ? serviceChecks : serviceChecks.slice(0, 2))
    if (probe.findings.every((finding) => finding.check !== check)) probe.add(check, 'unknown', 'not determined: see the findings above');
  return { form, measured: list?.name, firstPage: paged?.firstPage, limit };
}

/** Returns the block as YAML: the given parts, with the results in their places. A run finds out by itself that page 1 is the first. */
function blockOf(given: Readonly<Record<string, unknown>>, { form, firstPage, limit }: Found): string {
  const { first_page: declared, ...kept } = given;
  const first = firstPage === undefined ? declared : firstPage === 1 ? undefined : String(firstPage);
  const service = {
    ...kept,
    ...(form?.remark !== undefined && { auth: { rest_api_key: '${LEADSTREAM_REST_API_KEY}' } }),
    ...(first !== undefined && { first_page: first }),
    ...(limit !== undefined && { limit: String(limit) }),
  };
  const text = stringify({ service }, { schema: 'failsafe', lineWidth: 0 });
  return form?.remark === undefined ? text : text.replace(/^(\s+rest_api_key: .*)$/m, `$1 # set it to ${form.remark}`);
}
