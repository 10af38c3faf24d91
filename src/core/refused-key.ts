import { SourceError } from './errors.js';

/**
 * What was thrown, and of credentials that the service refused also where they are from.
 *
 * @param origin Like `auth.rest_api_key is from ${NAME}`; never the value.
 */
export function withKeyOrigin(thrown: unknown, origin: string): unknown {
  return thrown instanceof SourceError && thrown.code === 'E_SOURCE_AUTH' ? thrown.saying(`${thrown.message}; ${origin}`) : thrown;
}
