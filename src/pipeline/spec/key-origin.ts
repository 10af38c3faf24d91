import { getIn } from '../../options/index.js';
import { keyField } from '../../http/index.js';
import type { Pipeline } from './pipeline.js';

/** Describes where the key of a pipeline comes from: the reference in its file, or the environment variable. */
export function keyOriginOf({ service, connection: { auth } }: Pick<Pipeline, 'service' | 'connection'>): string {
  const field = keyField(auth);
  const reference = getIn(service, ['auth', ...field]);
  const name = field.join('.');
  return `${name} is from ${typeof reference === 'string' ? reference : `LEADSTREAM_${name.toUpperCase()}`}`;
}
