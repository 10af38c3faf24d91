import { schema, type SpecError } from '../core/index.js';
import { proxyIn } from '../http/index.js';
import type { HookName, Environment, Problem } from './references.js';

/** A webhook to notify when a run ends. */
export interface Hook {
  /** Address, which may contain a token. */
  readonly url: string;
  /** Address of the proxy to use. */
  readonly proxy: string | undefined;
}

/** The webhooks to notify when a run ends. */
export interface Hooks {
  readonly success: Hook | undefined;
  readonly failure: Hook | undefined;
}

/** The schema of `on_success` and `on_failure`. */
export const hookShape = schema((z) =>
  z.strictObject({
    webhook: z
      .string()
      .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), 'must be an http or https URL')
      .describe('URL that receives a small JSON document by POST. Only a reference, because it may contain a token: ${HOOK_URL}.'),
  }),
);

/** Returns the hooks of a file with their proxies, and reports problems with these. */
export function hooksOf(
  hooks: { readonly [N in HookName]?: { readonly webhook: string } | undefined },
  env: Environment,
  problem: Problem,
): Hooks {
  const hookOf = (name: HookName): Hook | undefined => {
    const url = hooks[name]?.webhook;
    if (url === undefined) return undefined;
    const way = proxyIn(url, env);
    if (way.problem !== undefined) problem([name, 'webhook'], way.problem);
    return { url, proxy: way.proxy };
  };
  return { success: hookOf('on_success'), failure: hookOf('on_failure') };
}

/** Returns the parts of hooks that must not be shown: their addresses, and everything in them except the host. */
export function hookSecrets({ success, failure }: Hooks): readonly string[] {
  return [success, failure].flatMap((hook) => {
    if (!hook) return [];
    const { username, password, pathname, search } = new URL(hook.url);
    // Shorter parts of a path are words rather than tokens.
    const tokens = pathname.split('/').filter((part) => part.length >= 16);
    return [hook.url, pathname + search, ...tokens, username, password].filter((part) => part !== '');
  });
}

/** A pipeline of a file that could not be loaded, with the webhook for its failures. */
interface RefusedPipeline {
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
