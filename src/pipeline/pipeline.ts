import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { secretsOf, type Credentials } from '../client/index.js';
import { SpecError, reasonOf, type SpecIssue } from '../errors.js';
import type { ConsistencyMode, OnError } from '../flow/index.js';
import type { ConnectOptions } from './connect.js';
import { parseSpecDocument, type Path } from './document.js';
import { collide, planPipeline, type Plan } from './plan.js';
import { resolveReferences, type Environment, type Problem } from './references.js';
import type { RejectsOptions } from './rejects.js';
import { pipelineShape, type PipelineShape, type ServiceSpec } from './spec.js';
import { validated } from './validate.js';

/** A pipeline that was checked in full and can be run. */
export interface Pipeline {
  readonly name: string;
  readonly plan: Plan;
  readonly connection: ConnectOptions;
  /** Credential-like columns of the collection that are wanted all the same. */
  readonly reveal: readonly string[];
  readonly onError: OnError;
  readonly rejects: RejectsOptions;
  readonly consistency: { readonly mode: ConsistencyMode; readonly maxPasses: number | undefined; readonly allowUnstable: boolean };
  /** Age from which landed pages are not used, in milliseconds. */
  readonly landingMaxAgeMs: number;
  /** Longest time that a run may take, in milliseconds. */
  readonly deadlineMs: number | undefined;
  /** Key of `mask: hmac`, from the environment. */
  readonly hmacKey: string | undefined;
  /** Folder that relative paths resolve against. */
  readonly baseDir: string;
  /** SHA-256 over the specification without credentials, in hexadecimal. */
  readonly fingerprint: string;
  /** Values that must never be seen. */
  readonly secrets: readonly string[];
}

/** What a pipeline file is read with. */
export interface LoadOptions {
  /** Default `process.env`. */
  readonly env?: Environment;
  /** Values that take the place of the file's, for example `{ 'service.limit': '100' }`. Not under `service.auth`. */
  readonly set?: Readonly<Record<string, string>>;
  /** Folder that relative paths resolve against. Default: the working directory. */
  readonly baseDir?: string;
}

/** @throws {SpecError} With every problem of the file, each with its place. */
export async function loadPipeline(file: string, options: LoadOptions = {}): Promise<Pipeline> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw new SpecError('E_SPEC_YAML', file, [{ message: `cannot be read (${reasonOf(error)})`, line: 1, column: 1 }]);
  }
  return parsePipeline(text, file, options);
}

/**
 * Checks the text of a pipeline file.
 *
 * @param file Name for messages.
 * @throws {SpecError} With every problem, each with its place.
 */
export function parsePipeline(text: string, file: string, options: LoadOptions = {}): Pipeline {
  const { env = process.env, set = {}, baseDir = process.cwd() } = options;
  const document = parseSpecDocument(file, text, overridesOf(file, set));
  const issues: (SpecIssue & { readonly reference: boolean })[] = [];
  const unresolved = new Set<string>();
  const problemOf =
    (reference: boolean): Problem =>
    (path, message, onKey) => {
      // What a reference would have stood for cannot be judged.
      if (!reference && unresolved.has(path.join('.'))) return;
      if (reference) unresolved.add(path.join('.'));
      issues.push({ message, ...document.locate(path, onKey), reference });
    };

  const resolved = resolveReferences(document.value, env, problemOf(true));
  const shape = validated(pipelineShape, resolved, [], problemOf(false));
  // What cannot be read as a whole is read in parts, so that one typo does not hide the others.
  const parts = shape ?? readableParts(resolved);
  const plan = parts && planPipeline(parts, { baseDir, hmacKey: env.LEADSTREAM_HMAC_KEY }, problemOf(false));
  const connection = shape && connectionOf(shape.service, env, problemOf(true));
  const rejects = shape && plan && rejectsOf(shape, plan, baseDir, problemOf(false));
  if (!shape || !connection || !plan || !rejects || issues.length > 0) throw new SpecError(codeOf(issues), file, sorted(issues));

  return {
    name: shape.name,
    plan,
    connection,
    reveal: shape.reveal ?? [],
    onError: shape.on_error ?? 'reject',
    rejects,
    consistency: {
      mode: shape.consistency ?? (plan.sinks.some(({ output }) => output !== undefined) ? 'repair' : 'off'),
      maxPasses: shape.max_passes,
      allowUnstable: shape.allow_unstable ?? false,
    },
    landingMaxAgeMs: shape.landing?.max_age ?? 6 * 3_600_000,
    deadlineMs: shape.service?.deadline,
    hmacKey: env.LEADSTREAM_HMAC_KEY,
    baseDir,
    fingerprint: createHash('sha256').update(JSON.stringify(resolved, withoutCredentials)).digest('hex'),
    secrets: [...secretsOf(connection.auth), env.LEADSTREAM_HMAC_KEY ?? ''],
  };
}

/**
 * The connection that the environment describes: `LEADSTREAM_BASE_URL`, and `LEADSTREAM_REST_API_KEY` or
 * `LEADSTREAM_AUTHORIZED_UID` with `LEADSTREAM_AUTHORIZED_REST_API_KEY`.
 */
export function connectionFromEnvironment(
  env: Environment,
): { readonly baseUrl: string; readonly auth: Credentials } | { readonly missing: string } {
  const baseUrl = env.LEADSTREAM_BASE_URL;
  if (!baseUrl) return { missing: 'LEADSTREAM_BASE_URL' };
  if (env.LEADSTREAM_REST_API_KEY) return { baseUrl, auth: { rest_api_key: env.LEADSTREAM_REST_API_KEY } };
  const { LEADSTREAM_AUTHORIZED_UID: uid, LEADSTREAM_AUTHORIZED_REST_API_KEY: key } = env;
  if (uid && key) return { baseUrl, auth: { authorized_uid: uid, authorized_rest_api_key: key } };
  return { missing: 'LEADSTREAM_REST_API_KEY, or LEADSTREAM_AUTHORIZED_UID with LEADSTREAM_AUTHORIZED_REST_API_KEY' };
}

function connectionOf(service: ServiceSpec | undefined, env: Environment, problem: Problem): ConnectOptions | undefined {
  if (!service) {
    const found = connectionFromEnvironment(env);
    if ('baseUrl' in found) return found;
    problem([], `without a service block the environment must set ${found.missing}`);
    return undefined;
  }
  const { retry } = service;
  return {
    baseUrl: service.base_url,
    auth: service.auth,
    ...defined({
      limit: service.limit,
      concurrency: service.concurrency,
      window: service.window,
      firstPage: service.first_page,
      maxPages: service.max_pages,
      strict: service.strict,
      ratePerSecond: service.rate_limit,
      timeoutMs: service.timeout,
      maxBodyBytes: service.max_page_bytes,
      retry: retry && defined({ attempts: retry.attempts, baseMs: retry.base, capMs: retry.cap }),
    }),
  };
}

/** The same without keys that have no value, so that defaults apply. */
function defined<T extends object>(value: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> };
}

function rejectsOf(shape: PipelineShape, plan: Plan, baseDir: string, problem: Problem): RejectsOptions {
  const outputs = plan.sinks.flatMap(({ output }) => output ?? []);
  const path = shape.rejects?.path === undefined ? outputs[0] && `${outputs[0]}.rejects.ndjson` : resolve(baseDir, shape.rejects.path);
  if (path !== undefined && outputs.some((output) => collide(output, path))) {
    problem(['rejects', 'path'], `${path} is where a sink writes; choose another file for the rejects`);
  }
  return { path, max: shape.rejects?.max ?? { share: 0.01 }, rows: shape.rejects?.rows ?? false };
}

/** What can be planned of a file that has problems at its top level. */
function readableParts(value: unknown) {
  return pipelineShape.pick({ from: true, reveal: true, steps: true, to: true }).strip().safeParse(value).data;
}

function overridesOf(file: string, set: Readonly<Record<string, string>>): readonly { path: Path; value: string }[] {
  return Object.entries(set).map(([key, value]) => {
    const path = key.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part));
    if (path[0] === 'service' && (path.length === 1 || path[1] === 'auth')) {
      throw new SpecError('E_SPEC_INVALID', file, [
        { message: `--set ${key}: credentials are not accepted on the command line`, line: 1, column: 1 },
      ]);
    }
    return { path, value };
  });
}

function codeOf(issues: readonly { readonly reference: boolean }[]) {
  return issues.every(({ reference }) => reference) ? 'E_SPEC_REFERENCE' : 'E_SPEC_INVALID';
}

function sorted(issues: readonly SpecIssue[]): readonly SpecIssue[] {
  return [...issues].sort((a, b) => a.line - b.line || a.column - b.column);
}

function withoutCredentials(key: string, value: unknown): unknown {
  return key === 'auth' ? undefined : value;
}
