import type { SpecError } from '../../core/index.js';
import type { Hook } from './hooks.js';

/** A pipeline of a file that could not be loaded, with who is to be told of its failures. */
export interface RefusedPipeline {
  /** Default: it has none that can be read. */
  readonly name: string | undefined;
  readonly hook: Hook | undefined;
}

// An address is a credential, and what is thrown may be shown.
const refused = new WeakMap<object, readonly RefusedPipeline[]>();

/** Notes what is known of the pipelines of a file that is refused. @returns The failure. */
export function noteRefused(failure: SpecError, pipelines: readonly RefusedPipeline[]): SpecError {
  refused.set(failure, pipelines);
  return failure;
}

/** What is known of the pipelines of a file that was refused; none for another failure. */
export function refusedIn(failure: unknown): readonly RefusedPipeline[] {
  return (typeof failure === 'object' && failure !== null ? refused.get(failure) : undefined) ?? [];
}
