import { createHash } from 'node:crypto';
import { LeadstreamError, secretVariables, type ConsistencyMode, type OnDuplicateKey, type Warning } from '../core/index.js';
import type { OnError } from '../flow/index.js';
import { partsOfList } from '../collections/index.js';
import { getIn, kindOf } from '../options/index.js';
import { accountMark, secretKeyOf, proxySecrets } from '../http/index.js';
import type { ConnectOptions } from '../source/index.js';
import type { Together } from '../lake/index.js';
import type { PathNames } from '../store/index.js';
import { hookNames } from './document.js';
import type { ReferenceSource } from './references.js';
import { hookSecrets, type Hooks } from './hooks.js';
import type { Plan } from './plan.js';
import type { PipelineShape } from './spec.js';
import type { Tolerance } from './units.js';

/** A pipeline that passed all checks and can be run. */
export interface Pipeline extends Readonly<Pick<PipelineShape, 'name' | 'store' | 'expect' | 'schema' | 'pages' | 'since'>> {
  readonly plan: Plan;
  /** To the service of the list that is read. */
  readonly connection: ConnectOptions;
  /** What the file says of that service, as written, with references instead of values. */
  readonly service: Readonly<Record<string, unknown>>;
  /** All services by name; `''` is that of `service`. */
  readonly services: Readonly<Record<string, Pick<Pipeline, 'connection' | 'service'>>>;
  /** Secret columns of the collection to include. */
  readonly reveal: readonly string[];
  readonly onError: OnError;
  /** For the collection's list; a join has its own. */
  readonly onDuplicateKey: OnDuplicateKey | undefined;
  readonly rejects: RejectsPlan;
  readonly together: Together | undefined;
  /** What happens to undeclared fields that first appear after page 1. */
  readonly onNewField: 'next_run' | 'restart';
  readonly consistency: { readonly mode: ConsistencyMode; readonly maxPasses: number | undefined; readonly allowUnstable: boolean };
  /** Age at which spooled pages expire; `undefined` for no spool. */
  readonly spoolMaxAgeMs: number | undefined;
  readonly deadlineMs: number | undefined;
  /** Key of `mask: hmac`, from the environment. */
  readonly hmacKey: string | undefined;
  readonly hooks: Hooks;
  /** Folder that relative paths resolve against. */
  readonly baseDir: string;
  /** SHA-256 of the specification without credentials, in hexadecimal. */
  readonly fingerprint: string;
  /** What is valid but probably not intended; each message starts with its position in the file. */
  readonly warnings: readonly Warning[];
  readonly secrets: readonly string[];
}

export interface RejectsPlan {
  /** Absolute path with placeholders for day and run id; `undefined` if rejects are only counted. */
  readonly path: string | undefined;
  pathOf(names: PathNames): string | undefined;
  readonly max: Tolerance;
  /** Whether the file contains the rows, with all personal values. */
  readonly rows: boolean;
}

export function pipelineOf(
  shape: PipelineShape,
  parts: Pick<Pipeline, 'plan' | 'services' | 'rejects' | 'hooks' | 'warnings'>,
  { env, baseDir }: ReferenceSource,
  resolved: unknown,
): Pipeline {
  const { plan, hooks } = parts;
  const own = parts.services[partsOfList(plan.collection.name)[0]];
  if (!own) throw new Error('each list has a service');
  const deadlines = [shape.service, ...Object.values(shape.services ?? {})].flatMap((service) => service?.deadline ?? []);
  return {
    ...{ ...parts, ...own },
    name: shape.name,
    reveal: shape.reveal ?? [],
    onError: shape.on_error,
    onDuplicateKey: shape.on_duplicate_key,
    expect: shape.expect,
    ...{ pages: shape.pages, since: shape.since },
    store: shape.store,
    together: undefined,
    schema: shape.schema,
    onNewField: shape.on_new_field,
    consistency: {
      mode: shape.consistency ?? (plan.sinks.some(({ definition }) => !definition.prints) ? 'repair' : 'off'),
      maxPasses: shape.max_passes,
      allowUnstable: shape.allow_unstable,
    },
    spoolMaxAgeMs: shape.spool === 'off' ? undefined : shape.spool.max_age,
    deadlineMs: deadlines.length === 0 ? undefined : Math.min(...deadlines),
    hmacKey: env.LEADSTREAM_HMAC_KEY,
    baseDir,
    fingerprint: fingerprintOf(resolved, plan),
    secrets: [
      ...Object.values(parts.services).flatMap(({ connection: { auth, proxy } }) => [secretKeyOf(auth).value, ...proxySecrets(proxy)]),
      ...hookSecrets(hooks),
      ...secretsOf(plan).flatMap(({ value, parts }) => [value, ...parts]),
      ...secretVariables.map((name) => env[name] ?? ''),
    ],
  };
}

function secretsOf({ sinks }: Plan): readonly { readonly value: string; readonly parts: readonly string[] }[] {
  return sinks.flatMap(({ definition: { secrets = [] }, config }) =>
    secrets.flatMap(({ path, parts }) => {
      const value = getIn(config, path);
      return typeof value === 'string' ? [{ value, parts: parts?.(value) ?? [] }] : [];
    }),
  );
}

/**
 * Computes the fingerprint, without credentials, webhooks, tests, and what shows that a list is complete: none of them changes which rows
 * are wanted. Custom steps and sinks count by name and version.
 */
function fingerprintOf(resolved: unknown, plan: Plan): string {
  const { steps, sinks } = plan;
  const own = [...steps, ...sinks].flatMap(({ at, definition: { version } }) => (version === undefined ? [] : [`${at} ${version}`]));
  const others: readonly string[] = ['tests', 'consistency', 'max_passes', ...hookNames];
  const document = Object.fromEntries(Object.entries(Object(resolved) as object).filter(([key]) => !others.includes(key)));
  const credentials = secretsOf(plan).map(({ value }) => value);
  const text = JSON.stringify(document, (key, value: unknown) =>
    key === 'auth' || credentials.includes(String(value)) ? undefined : value,
  );
  return createHash('sha256')
    .update([text, ...own].join('\n'))
    .digest('hex');
}

type Connected = Pick<Pipeline, 'plan' | 'connection' | 'services'>;

/** Returns the connection to the service of a list. */
export function connectionTo({ plan, connection, services }: Connected, list: string): ConnectOptions {
  const [name] = partsOfList(list);
  const own = name === partsOfList(plan.collection.name)[0] ? { connection } : services[name];
  if (!own) throw new Error(`no service has the list ${list}`);
  return own.connection;
}

/** Returns what tells apart the accounts that a pipeline reads with, for manifests. */
export function accountsOf({ plan, connection, services }: Connected): string {
  const joined = new Set(plan.steps.map(({ config }) => partsOfList(String(getIn(config, ['with'])))[0]));
  joined.delete(partsOfList(plan.collection.name)[0]);
  const others = Object.entries(services).filter(([name]) => joined.has(name));
  return [connection, ...others.map(([, own]) => own.connection)].map(({ auth }) => accountMark(auth)).join(' ');
}

/** Returns what tells apart the lists that a pipeline reads, whatever files call them. */
export function listsOf(pipeline: Pipeline): readonly string[] {
  const { reads, collections } = pipeline.plan;
  return reads.map((list) => {
    const { origin, pathname } = new URL(connectionTo(pipeline, list).baseUrl);
    return `${origin}${pathname.replace(/\/+$/, '')} ${collections[list]?.paths[0]}`;
  });
}

export function keyOriginOf({ services }: Pick<Pipeline, 'services'>): string {
  const origins = Object.entries(services).map(([name, { service, connection }]) => {
    const { field } = secretKeyOf(connection.auth);
    const reference = getIn(service, ['auth', field]);
    const origin = typeof reference === 'string' ? reference : `LEADSTREAM_${field.toUpperCase()}`;
    return `${field} is from ${origin}${name === '' ? '' : ` for ${name}`}`;
  });
  return origins.join(', ');
}

/** @throws {LeadstreamError} `E_USAGE` for anything but a pipeline, such as a promise of one. */
export function checkPipeline(at: string, pipeline: unknown): void {
  if (typeof pipeline === 'object' && pipeline !== null && 'plan' in pipeline) return;
  const remedy = 'the first argument must be a pipeline, like await loadPipeline(file)';
  throw new LeadstreamError('E_USAGE', `${at}: ${remedy}, not ${kindOf(pipeline)}`);
}
