import { LeadstreamError, unknownName } from '../core/index.js';
import type { Pipeline } from '../index.js';

/**
 * Returns the pipelines of a file that a command line selects: all, or the named ones.
 *
 * @param only Names given with `--only`; empty for all.
 * @throws {LeadstreamError} `E_USAGE` for a name that no pipeline has.
 */
export function named<P extends Pick<Pipeline, 'name'>>(pipelines: readonly P[], only: readonly string[]): readonly P[] {
  const names = pipelines.map(({ name }) => name);
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new LeadstreamError('E_USAGE', `--only: ${unknownName('pipeline', unknown, names)}`);
  return only.length === 0 ? pipelines : pipelines.filter(({ name }) => only.includes(name));
}

/**
 * Returns the one pipeline that a command works on.
 *
 * @throws {LeadstreamError} `E_USAGE` when the file contains several and none is named.
 */
export function onePipeline<P extends Pick<Pipeline, 'name'>>(pipelines: readonly P[], file: string, only: string | undefined): P {
  const [first, ...others] = named(pipelines, only === undefined ? [] : [only]);
  if (first && others.length === 0) return first;
  const names = pipelines.map(({ name }) => name).join(', ');
  throw new LeadstreamError('E_USAGE', `${file} holds several pipelines; name one with --only: ${names}`);
}
