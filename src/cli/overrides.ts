import { LeadstreamError } from '../errors.js';

/**
 * Reads the values of `--set`.
 *
 * @throws {LeadstreamError} `E_USAGE` for one that is no PATH=VALUE.
 */
export function overridesOf(pairs: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new LeadstreamError('E_USAGE', '--set takes PATH=VALUE, like service.limit=100');
      return [pair.slice(0, at), pair.slice(at + 1)] as const;
    }),
  );
}
