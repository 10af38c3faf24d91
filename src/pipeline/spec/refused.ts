import type { SpecError } from '../../core/index.js';
import type { Hook } from './hooks.js';

/** A pipeline of a file that could not be loaded, with the webhook for its failures. */
export interface RefusedPipeline {
  /** Missing if it has no readable name. */
  readonly name: string | undefined;
  readonly hook: Hook | undefined;
}

// Stored separately: an address is a credential, and the error may be shown.
const refused = new WeakMap<object, readonly RefusedPipeline[]>();

/** Associates the pipelines of a refused file with the failure. @returns The failure. */
export function noteRefused(failure: SpecError, pipelines: readonly RefusedPipeline[]): SpecError {
  refused.set(failure, pipelines);
  return failure;
}

/** Returns the known pipelines of a refused file; empty for any other failure. */
export function refusedIn(failure: unknown): readonly RefusedPipeline[] {
  return (typeof failure === 'object' && failure !== null ? refused.get(failure) : undefined) ?? [];
}
