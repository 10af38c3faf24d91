import { SourceError } from './errors.js';

/**
 * Adds the origin of refused credentials to an error; returns any other error unchanged.
 *
 * @param origin Like `auth.rest_api_key is from ${NAME}`; never the value.
 */
export function withKeyOrigin(thrown: unknown, origin: string): unknown {
  return thrown instanceof SourceError && thrown.code === 'E_SOURCE_AUTH' ? thrown.saying(`${thrown.message}; ${origin}`) : thrown;
}
