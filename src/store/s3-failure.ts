import { LeadstreamError, SinkError } from '../core/index.js';
import { errnoOf } from './failure.js';
import { lostTo } from './objects.js';

/** The known facts of a failed request. Its message and most fields may have credentials. */
export function s3FaultOf(thrown: unknown) {
  const { name, message, $metadata, Region, $response } = thrown as {
    readonly name: string;
    readonly message: string;
    readonly $metadata?: { readonly httpStatusCode?: number };
    readonly Region?: string;
    readonly $response?: { readonly headers?: Readonly<Record<string, string>> };
  };
  const status = $metadata?.httpStatusCode;
  /** S3's code, or the system's. The SDK has none for a region that is missing or wrong. */
  const code = message.startsWith('Region ') ? 'Region' : ((status === undefined ? errnoOf(thrown) : undefined) ?? name);
  const lasting = thrown instanceof LeadstreamError || /^(?:Region|ENOTFOUND|ERR_INVALID_URL|CredentialsProviderError)$/.test(code);
  return {
    name: /^[\w.]+$/.test(code) ? code : 'an error',
    status,
    region: Region ?? $response?.headers?.['x-amz-bucket-region'],
    /** Whether the same request may succeed later. Without a status, the connection failed. */
    passing: status === undefined ? !lasting : status >= 500 || status === 429 || code.startsWith('RequestTime'),
  };
}

const rights = 's3:ListBucket, s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload, and the use of the KMS key';
const setRegion = 'set region under store, or AWS_REGION';
const keys = 'check the access key and its secret, in the environment or the profile';

const remedies: Readonly<Record<string, string>> = {
  NoSuchBucket: 'create the bucket, or correct its name',
  AccessDenied: `allow ${rights}; without s3:ListBucket, S3 responds like this to missing objects, too`,
  RequestTimeTooSkewed: 'set the clock of this machine',
  Region: setRegion,
  InvalidObjectState: 'the object is in an archive; restore it, and keep tables out of rules that archive',
  ExpiredToken: 'the credentials have expired; sign in again, or renew them',
  InvalidAccessKeyId: keys,
  SignatureDoesNotMatch: keys,
  CredentialsProviderError: 'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give this machine a role',
  ERR_INVALID_URL: 'the endpoint is not a URL',
  ENOTFOUND: 'no host has this name; check endpoint and region',
  ECONNREFUSED: 'nothing listens there; check the endpoint',
};

/** Turns a request's failure into ours, without its cause. */
export function s3Failure(thrown: unknown, what: string, object: string): LeadstreamError {
  if (thrown instanceof LeadstreamError) return thrown;
  const { name, status, region } = s3FaultOf(thrown);
  if (status === 412 || status === 409 || (status === 404 && what === 'replace' && name !== 'NoSuchBucket')) return lostTo(object);
  const message = `cannot ${what} ${object}: ${[name, status].join(' ').trim()}`;
  const isElsewhere = status === 301 || name === 'AuthorizationHeaderMalformed';
  const known = status === 403 && !(name in remedies) ? 'AccessDenied' : name;
  const remedy = isElsewhere ? `the bucket is in ${region ?? 'another region'}; ${setRegion}` : remedies[known];
  if (remedy === undefined) return new SinkError('E_SINK_WRITE', message);
  return new SinkError(name === 'Region' ? 'E_SINK_CONFIG' : 'E_SINK_PATH', `${message}: ${remedy}`);
}
