import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createRedactor, minSecretLength, secretVariables, type Redactor } from '../core/index.js';
import { privacyAt } from '../http/index.js';
import type { SinkDefinition } from '../sinks/index.js';
import { belowAuth, hookNames, type Path } from './document.js';
import type { IssueList } from './issues.js';

const reference = /\$\$\{|\$\{([^}]*)\}/g;
const parts = /^(?:file:([\s\S]+)|([A-Za-z_][A-Za-z0-9_]*)(?:(:-|:\?)([\s\S]*))?)$/;

/**
 * The references in a file's documents: `${NAME}`, `${NAME:-default}`, `${NAME:?message}`, `${file:/run/secrets/key}`; `$${` is a literal
 * `${`. Inserted values are not searched for references.
 *
 * `service.auth`, a `webhook`, and the secrets of sinks accept only a single reference without a default, so that no key is in a file.
 * All other places refuse credentials, in any document: what those places refer to, and the variables that hold keys. Texts are not
 * searched for values that are no keys, such as a user id, which may be a small number.
 */
export class References {
  /** References to credentials: a variable by its name, a file by its absolute path. */
  readonly #credentials = new Set(secretVariables.map((name) => `variable ${name}`));
  readonly #keys: readonly string[];
  readonly redact: Redactor;

  constructor(
    documents: readonly unknown[],
    readonly from: ReferenceSource,
    private readonly sinks: Readonly<Record<string, SinkDefinition>>,
  ) {
    const parts: string[] = [];
    const values = secretVariables.map((name) => from.env[name] ?? '');
    for (const { path, text } of documents.flatMap((document) => textsIn(document))) {
      const found = this.#isSecret(path) && referenceIn(text);
      if (!found) continue;
      this.#credentials.add(`${found.kind} ${found.kind === 'file' ? resolve(from.baseDir, found.name) : found.name}`);
      const account = belowAuth(path);
      if (account && privacyAt(account) !== 'secret') continue;
      const value = (found.kind === 'file' ? from.read(found.name) : from.env[found.name]) ?? '';
      values.push(value);
      parts.push(...(this.#optionAt(path)?.parts?.(value) ?? []));
    }
    // A shorter value is not a key, and would match everywhere.
    this.#keys = values.filter((value) => value.length >= minSecretLength);
    this.redact = createRedactor([...this.#keys, ...parts]);
  }

  resolved(value: unknown, issues: IssueList, path: Path = []): unknown {
    if (typeof value === 'string')
      return this.#isSecret(path) ? this.#credential(value, issues, path) : this.#ordinary(value, issues, path);
    if (Array.isArray(value)) return value.map((item, index) => this.resolved(item, issues, [...path, index]));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).filter(([key]) => !this.#isMisplaced(key, issues, [...path, key], true));
    return Object.fromEntries(entries.map(([key, item]) => [key, this.resolved(item, issues, [...path, key])]));
  }

  #credential(text: string, issues: IssueList, path: Path): string {
    if (referenceIn(text)) return (path[0] === 'to' ? this.from.sinkSecret : undefined) ?? this.#replaced(text, issues, path);
    const remedy = 'like ${NAME} or ${file:/run/secrets/key}, and never be written in the file';
    issues.referenceProblem(path, `a credential must be a reference, ${remedy}`);
    return text;
  }

  #ordinary(text: string, issues: IssueList, path: Path): string {
    // A test's rows contain no references.
    const whole = path[0] === 'tests' ? text : this.#replaced(text, issues, path);
    return this.#isMisplaced(whole, issues, path) ? '[redacted]' : whole;
  }

  #isMisplaced(text: string, { referenceProblem }: IssueList, path: Path, onKey = false): boolean {
    const isCredential = this.#keys.some((key) => text.includes(key));
    const message = 'this is a credential, which is accepted only under service.auth, as a reference';
    if (isCredential) referenceProblem(path, message, onKey);
    return isCredential;
  }

  #replaced(text: string, issues: IssueList, path: Path): string {
    return text.replace(reference, (whole, body: string | undefined) =>
      body === undefined ? '${' : (this.#valueOf(body, issues, path) ?? whole),
    );
  }

  #valueOf(body: string, { referenceProblem, unsetProblem }: IssueList, path: Path): string | undefined {
    const [, file, variable, operator, operand = ''] = parts.exec(body) ?? [];
    const [kind, name] = file === undefined ? (['variable', variable] as const) : (['file', resolve(this.from.baseDir, file)] as const);
    if (name === undefined) {
      const forms = '${NAME}, ${NAME:-default}, ${NAME:?message} or ${file:PATH}';
      referenceProblem(path, `'\${${body}}' is not a reference; write ${forms}`);
      return undefined;
    }
    if (!this.#isSecret(path) && this.#credentials.has(`${kind} ${name}`)) {
      referenceProblem(path, `the ${kind} ${name} holds a credential, which is accepted only under service.auth`);
      return undefined;
    }
    const value = file === undefined ? this.from.env[name] : this.from.read(file);
    if (value !== undefined && (value !== '' || file !== undefined)) return value;
    if (operator === ':-') return operand;
    const state = value === '' ? 'empty' : 'not set';
    const missing = file === undefined ? `the environment variable ${name} is ${state}` : `the file ${file} cannot be read`;
    const message = operator === ':?' && operand !== '' ? `\${${name}}: ${operand}` : missing;
    unsetProblem(path, file === undefined ? name : `file:${file}`, message);
    return undefined;
  }

  #isSecret(path: Path): boolean {
    if (hookNames.some((name) => name === path[0]) || this.#optionAt(path)) return true;
    const account = belowAuth(path);
    return account !== undefined && privacyAt(account) !== 'plain';
  }

  #optionAt([list, , sink = '', ...option]: Path) {
    if (list !== 'to' || !Object.hasOwn(this.sinks, sink)) return undefined;
    return this.sinks[sink]?.secrets?.find(({ path }) => path.join('.') === option.join('.'));
  }
}

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface ReferenceSource {
  readonly env: Environment;
  readonly baseDir: string;
  /** Stands for all secrets of sinks. Default: what they refer to. */
  readonly sinkSecret?: string;
  /** Returns the content of a file without its last line end; `undefined` if it is not readable. Read once, as it may be a pipe. */
  read(name: string): string | undefined;
}

export function referenceSource(env: Environment, baseDir: string): ReferenceSource {
  const contents = new Map<string, string | undefined>();
  return {
    env,
    baseDir,
    read: (name) => {
      const path = resolve(baseDir, name);
      try {
        if (!contents.has(path)) contents.set(path, readFileSync(path, 'utf8').replace(/\r?\n$/, ''));
      } catch {
        contents.set(path, undefined);
      }
      return contents.get(path);
    },
  };
}

function referenceIn(text: string): { readonly kind: 'variable' | 'file'; readonly name: string } | undefined {
  const [, file, name] = /^\$\{(?:file:([^}]+)|([A-Za-z_][A-Za-z0-9_]*)(?::\?[^}]*)?)\}$/.exec(text) ?? [];
  if (file !== undefined) return { kind: 'file', name: file };
  return name === undefined ? undefined : { kind: 'variable', name };
}

function textsIn(value: unknown, path: readonly string[] = []): readonly { readonly path: readonly string[]; readonly text: string }[] {
  if (typeof value === 'string') return [{ path, text: value }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]) => textsIn(inner, [...path, key]));
}
