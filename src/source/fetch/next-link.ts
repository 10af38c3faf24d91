import { SourceError } from '../../core/index.js';
import { credentialParameters } from '../../http/index.js';
import type { Position } from './position.js';

/** What a link is checked against. */
export interface Surroundings {
  /** Origin and path of the service. */
  readonly baseUrl: string;
  /** Values that must not be passed on in a link. */
  readonly secrets: readonly string[];
}

/**
 * Resolves a link against the address of its page (RFC 3986). Credentials in it are removed, since every request has our own.
 *
 * @throws {SourceError} `E_SOURCE_LINK` for another origin, or a path outside the base URL.
 */
export function followed(link: string, from: Position, label: string, { baseUrl, secrets }: Surroundings): Position {
  const { origin, pathname } = new URL(baseUrl);
  const base = pathname.replace(/\/+$/, '');
  const page = new URL(`${origin}${base}${from.path}?${new URLSearchParams([...from.parameters]).toString()}`).href;
  if (!URL.canParse(link, page)) throw refused(label, 'is not a valid address');
  const next = new URL(link, page);
  if (next.origin !== origin) throw refused(label, `points to ${next.origin === 'null' ? next.protocol : next.origin}, another origin`);
  if (!next.pathname.startsWith(`${base}/`)) throw refused(label, `points outside the path of base_url, ${base}/`);
  const isOurs = ([name, value]: readonly [string, string]) =>
    credentialParameters.includes(name) || secrets.some((secret) => value.includes(secret) || name.includes(secret));
  return { path: next.pathname.slice(base.length), parameters: [...next.searchParams].filter((pair) => !isOurs(pair)) };
}

function refused(label: string, what: string): SourceError {
  return new SourceError('E_SOURCE_LINK', 'permanent', `${label}: the link to the next page ${what}; it was not followed`);
}
