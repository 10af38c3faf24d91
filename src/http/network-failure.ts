import { MaxRedirectsError, ReadError, RequestError } from 'got';
import { SourceError } from '../core/index.js';

/** The way of a request; hosts have their ports. */
export interface Way {
  /** Host of the service, for failures that do not name one. */
  readonly host: string;
  readonly proxy: string | undefined;
}

/** Error codes for certificates that are not accepted, and for servers that do not speak TLS. Another attempt cures neither. */
const certificateCodes = /^(?:CERT_|ERR_TLS_CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH$|INVALID_CA$|INVALID_PURPOSE$)/;
const tlsCodes = /^(?:ERR_TLS_|ERR_SSL_|EPROTO$)/;

/**
 * Returns the failure of a request that got no answer. It contains the error code of the system and the host, and nothing else of the error, which contains the
 * address with its credentials.
 *
 * @param label Name of the request in messages.
 */
export function networkFailure(label: string, { host, proxy }: Way, thrown: unknown): SourceError {
  const systemCode = codeOf(thrown);
  const where = `${proxy === undefined ? '' : `through the proxy ${proxy} `}(${systemCode} ${addressIn(thrown) ?? host})`;
  if (certificateCodes.test(systemCode))
    return new SourceError('E_SOURCE_TLS', 'permanent', `${label}: the certificate is not accepted ${where}`, { systemCode });
  if (tlsCodes.test(systemCode))
    return new SourceError('E_SOURCE_TLS', 'permanent', `${label}: no TLS connection ${where}`, { systemCode });
  if (thrown instanceof MaxRedirectsError || systemCode === 'ERR_INVALID_URL')
    return new SourceError('E_SOURCE_REFUSED', 'permanent', `${label}: ${systemCode}`, { systemCode });
  if (systemCode === 'ERR_INVALID_PROTOCOL')
    return new SourceError('E_SOURCE_CONFIG', 'permanent', `${label}: the agent does not support this protocol (${systemCode})`, {
      systemCode,
    });
  const what = thrown instanceof ReadError ? 'the response was cut off' : systemCode === 'ENOTFOUND' ? unknownHost(proxy) : 'no connection';
  return new SourceError('E_SOURCE_UNAVAILABLE', 'transient', `${label}: ${what} ${where}`, { systemCode });
}

/** A mistyped name fails like one that cannot be looked up. */
function unknownHost(proxy: string | undefined): string {
  return `no connection, because the host name cannot be resolved; check ${proxy === undefined ? 'the base URL' : 'the address of the proxy'} and the network`;
}

function codeOf(thrown: unknown): string {
  return thrown instanceof RequestError ? thrown.code : 'UNKNOWN';
}

/** Returns what the system could not reach: for a name, the address that it stands for, which may be a proxy's. */
function addressIn(thrown: unknown): string | undefined {
  const cause: unknown = thrown instanceof Error ? thrown.cause : undefined;
  if (typeof cause !== 'object' || cause === null) return undefined;
  // A name with several addresses fails with an error for each.
  const each: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [cause];
  const address = textIn(each[0], 'address');
  const port = textIn(each[0], 'port');
  if (address !== undefined && port !== undefined) return `${address.includes(':') ? `[${address}]` : address}:${port}`;
  return textIn(each[0], 'hostname');
}

function textIn(failure: unknown, key: string): string | undefined {
  const value: unknown = typeof failure === 'object' && failure !== null ? Reflect.get(failure, key) : undefined;
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}
