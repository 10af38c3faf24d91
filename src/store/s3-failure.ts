import { LeadstreamError, SinkError } from '../core/index.js';
import { errnoOf } from './failure.js';
import { lostTo } from './objects.js';

/** What is known of a failed request. */
interface Fault {
  /** S3's name for it, or the system's. */
  readonly name: string;
  readonly status: number | undefined;
  /** Where the bucket is, if the store says so. */
  readonly region: string | undefined;
  /** Whether the same request may succeed later. */
  readonly passing: boolean;
}

/** Reads the failure of a request. Its message and its fields are left alone: they may have credentials. */
export function faultOf(thrown: unknown): Fault {
  const {
    name = '',
    $metadata,
    Region,
    $response,
  } = (thrown instanceof Object ? thrown : {}) as {
    readonly name?: string;
    readonly $metadata?: { readonly httpStatusCode?: number };
    readonly Region?: string;
    readonly $response?: { readonly headers?: Readonly<Record<string, string>> };
  };
  const status = $metadata?.httpStatusCode;
  const code = status === undefined ? errnoOf(thrown) : undefined;
  const passing = (status !== undefined && status >= 500) || passingNames.has(code ?? name) || status === 429;
  return { name: code ?? name, status, region: Region ?? $response?.headers?.['x-amz-bucket-region'], passing };
}

const passingNames: ReadonlySet<string> = new Set([
  ...['ECONNRESET', 'ECONNREFUSED', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN', 'ENETUNREACH', 'EHOSTUNREACH', 'TimeoutError'],
  ...['RequestTimeout', 'RequestTimeTooSkewed', 'SlowDown', 'Throttling', 'ThrottlingException', 'ERR_STREAM_PREMATURE_CLOSE'],
]);

const rights = 's3:ListBucket for the bucket, and s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload for its objects';
const keys = 'check the access key and its secret in the environment or the profile';

/** What to do about failures that are those of a place. */
const remedies: Readonly<Record<string, string>> = {
  NoSuchBucket: 'the bucket does not exist; create it, or correct its name',
  AccessDenied: `the credentials need ${rights} (without ListBucket, S3 answers so for what is missing)`,
  ExpiredToken: 'the credentials have expired; sign in again, or renew them',
  InvalidAccessKeyId: keys,
  SignatureDoesNotMatch: keys,
  InvalidToken: keys,
  CredentialsProviderError:
    'found no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give this machine a role',
  ENOTFOUND: 'no host has this name; check endpoint and region',
  ECONNREFUSED: 'nothing listens there; check the endpoint',
};

/** Turns the failure of a request into ours, without its cause. */
export function s3Failure(thrown: unknown, what: string, object: string): LeadstreamError {
  if (thrown instanceof LeadstreamError) return thrown;
  const { name, status, region } = faultOf(thrown);
  // Those of a conditional request: 404 is said of an object to replace that is gone.
  if (status === 412 || status === 409 || (status === 404 && what === 'replace' && name !== 'NoSuchBucket')) return lostTo(object);
  const message = `cannot ${what} ${object}: ${[/^\w+$/.test(name) ? name : 'failed', status].filter(Boolean).join(' ')}`;
  if (status === undefined && thrown instanceof Error && thrown.message === 'Region is missing')
    return new SinkError('E_SINK_CONFIG', `cannot ${what} ${object}: set region under store, or AWS_REGION`);
  if (status === 301 || name === 'AuthorizationHeaderMalformed' || name === 'PermanentRedirect')
    return new SinkError(
      'E_SINK_PATH',
      `${message}: the bucket is in ${region ?? 'another region'}; set region under store, or AWS_REGION`,
    );
  const remedy = remedies[name] ?? (status === 403 ? remedies['AccessDenied'] : undefined);
  return new SinkError(remedy === undefined ? 'E_SINK_WRITE' : 'E_SINK_PATH', remedy === undefined ? message : `${message}: ${remedy}`);
}
