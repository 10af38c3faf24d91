import { LeadstreamError } from '../core/index.js';

/**
 * Reads the values of `--set`.
 *
 * @throws {LeadstreamError} `E_USAGE` for a value that is not PATH=VALUE, or a path that is given twice.
 */
export function overridesOf(pairs: readonly string[]): Readonly<Record<string, string>> {
  const values = new Map<string, string>();
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) throw new LeadstreamError('E_USAGE', '--set takes PATH=VALUE, like service.limit=100');
    const path = pair.slice(0, at);
    if (values.has(path)) throw new LeadstreamError('E_USAGE', `--set ${path} is given twice`);
    values.set(path, pair.slice(at + 1));
  }
  return Object.fromEntries(values);
}
