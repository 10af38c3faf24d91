import { schema } from '../core/index.js';
import { proxyIn } from '../http/index.js';
import { hookNames, type HookName } from './document.js';
import type { IssueList } from './issues.js';
import type { Environment } from './references.js';

interface Hook {
  /** Address, which may contain a token. */
  readonly url: string;
  readonly proxy: string | undefined;
}

export type Hooks = { readonly [N in HookName]?: Hook };

export const hookShape = schema((z) =>
  z.strictObject({
    webhook: z
      .string()
      .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), 'must be an http or https URL')
      .describe('URL that receives a small JSON document by POST. Only a reference, because it may contain a token: ${HOOK_URL}.'),
  }),
);

export function hooksOf(
  hooks: { readonly [N in HookName]?: { readonly webhook: string } | undefined },
  env: Environment,
  { problem, warn }: Pick<IssueList, 'problem' | 'warn'>,
): Hooks {
  const found = hookNames.flatMap((name) => {
    const url = hooks[name]?.webhook;
    if (url === undefined) return [];
    const way = proxyIn(url, env);
    if (way.problem !== undefined) problem([name, 'webhook'], way.problem);
    if (way.warning) warn([name, 'webhook'], way.warning);
    return [[name, { url, proxy: way.proxy }] as const];
  });
  return Object.fromEntries(found);
}

/** Returns what must not be shown of hooks: their addresses, and all parts of these except the host. */
export function hookSecrets(hooks: Hooks): readonly string[] {
  return Object.values(hooks).flatMap(({ url }) => {
    const { username, password, pathname, search } = new URL(url);
    // Shorter parts of a path are words, not tokens.
    const tokens = pathname.split('/').filter((part) => part.length >= 16);
    return [url, pathname + search, ...tokens, username, password].filter((part) => part !== '');
  });
}
