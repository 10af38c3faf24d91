import { createRedactor, minSecretLength, secretVariables, type Redactor } from '../../core/index.js';
import { hookNames } from './hook-names.js';
import { pathOf, referenceIn, type ReferenceSource } from './reference-source.js';

/** The credentials of a pipeline file. */
export interface FileCredentials {
  /** Whether what a reference names is a credential: a variable by its name, a file by its absolute path. */
  readonly holds: (kind: 'variable' | 'file', name: string) => boolean;
  /** Whether a credential stands in a text. */
  readonly within: (text: string) => boolean;
  readonly redact: Redactor;
}

/**
 * Finds what is a credential in any of the documents of a file: what `service.auth` names, and the variables that hold keys by their
 * names. The user id of an account is withheld with its key, but no text is searched for it: it may be a small number.
 */
export function credentialsIn(documents: readonly unknown[], from: ReferenceSource): FileCredentials {
  const names = new Set(secretVariables.map((name) => `variable ${name}`));
  const values = secretVariables.map((name) => from.env[name] ?? '');
  for (const [key, text] of documents.flatMap(authOf)) {
    const found = referenceIn(text);
    if (!found) continue;
    names.add(`${found.kind} ${found.kind === 'file' ? pathOf(found.name, from) : found.name}`);
    if (key !== 'authorized_uid') values.push(found.kind === 'file' ? (from.read(found.name) ?? '') : (from.env[found.name] ?? ''));
  }
  // What is shorter is no key, and everything holds it.
  const keys = values.filter((value) => value.length >= minSecretLength);
  return {
    holds: (kind, name) => names.has(`${kind} ${name}`),
    within: (text) => keys.some((key) => text.includes(key)),
    redact: createRedactor(keys),
  };
}

/** The references of documents that are credentials, and whether it is the address of a webhook. */
export function credentialReferences(documents: readonly unknown[]) {
  return documents.flatMap(authOf).flatMap(([key, text]) => {
    const found = referenceIn(text);
    return found ? [{ ...found, isHook: key === 'webhook' }] : [];
  });
}

/** The texts that are credentials, by their keys: those under `service.auth`, and addresses of webhooks. */
function authOf(document: unknown): readonly (readonly [string, string])[] {
  const auth = inside(inside(document, 'service'), 'auth');
  const header = inside(auth, 'header');
  return [...textsIn(auth), ...textsIn(header).filter(([key]) => key !== 'name'), ...hookTexts(document)];
}

/** The addresses of webhooks, which may hold tokens. */
function hookTexts(document: unknown): readonly (readonly [string, string])[] {
  return hookNames.flatMap((name) => textsIn(inside(document, name)));
}

function textsIn(value: unknown): readonly (readonly [string, string])[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, text]: [string, unknown]) => (typeof text === 'string' ? [[key, text] as const] : []));
}

function inside(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}
