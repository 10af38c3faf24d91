import { createRedactor, minSecretLength, secretVariables, type Redactor } from '../core/index.js';
import { privacyAt } from '../http/index.js';
import { pathOf, referenceIn, type ReferenceSource } from './reference-source.js';

/** The keys of a pipeline for webhooks. */
export const hookNames = ['on_success', 'on_failure'] as const;

export type HookName = (typeof hookNames)[number];

/** The credentials of a pipeline file. */
export interface FileCredentials {
  /** Returns whether a reference names a credential: a variable by its name, a file by its absolute path. */
  readonly holds: (kind: 'variable' | 'file', name: string) => boolean;
  /** Returns whether a text contains a credential. */
  readonly within: (text: string) => boolean;
  readonly redact: Redactor;
}

/**
 * Finds the credentials in all documents of a file: what `service.auth` names, and the variables whose names say that they hold keys. Texts are not searched for
 * withheld values that are not keys, such as a user id, because these may be small numbers.
 */
export function credentialsIn(documents: readonly unknown[], from: ReferenceSource): FileCredentials {
  const names = new Set(secretVariables.map((name) => `variable ${name}`));
  const values = secretVariables.map((name) => from.env[name] ?? '');
  for (const { text, isSearched } of documents.flatMap(credentialTexts)) {
    const found = referenceIn(text);
    if (!found) continue;
    names.add(`${found.kind} ${found.kind === 'file' ? pathOf(found.name, from) : found.name}`);
    if (isSearched) values.push(found.kind === 'file' ? (from.read(found.name) ?? '') : (from.env[found.name] ?? ''));
  }
  // A shorter value is not a key, and would be found everywhere.
  const keys = values.filter((value) => value.length >= minSecretLength);
  return {
    holds: (kind, name) => names.has(`${kind} ${name}`),
    within: (text) => keys.some((key) => text.includes(key)),
    redact: createRedactor(keys),
  };
}

/** A text in a document that is a credential. */
interface CredentialText {
  readonly text: string;
  /** Whether other texts are searched for its value. */
  readonly isSearched: boolean;
}

/** The texts that are credentials: those under `service.auth`, and addresses of webhooks, which may contain tokens. */
function credentialTexts(document: unknown): readonly CredentialText[] {
  const account = textsIn(inside(inside(document, 'service'), 'auth')).flatMap(({ path, text }) => {
    const privacy = privacyAt(path);
    return privacy === 'plain' ? [] : [{ text, isSearched: privacy === 'secret' }];
  });
  const hooks = hookNames.flatMap((name) => textsIn(inside(document, name)));
  return [...account, ...hooks.map(({ text }) => ({ text, isSearched: true }))];
}

function textsIn(value: unknown, path: readonly string[] = []): readonly { readonly path: readonly string[]; readonly text: string }[] {
  if (typeof value === 'string') return [{ path, text: value }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]) => textsIn(inner, [...path, key]));
}

function inside(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}
