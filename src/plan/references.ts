import type { Warning } from '../core/index.js';
import { privacyAt } from '../http/index.js';
import { hookNames, type FileCredentials } from './credentials.js';
import type { Path } from './document.js';
import { pathOf, referenceIn, type ReferenceSource } from './reference-source.js';

/** Receives a problem of the file: of a value, or with `onKey` of its key; `at` is the index of a character in a text. */
export type Problem = (path: Path, message: string, onKey?: boolean, at?: number) => void;

/** Receives the name of a variable or file that is missing; `message` describes this. */
export type Unset = (path: Path, name: string, message: string) => void;

/** Receives a doubt about the file: valid, but probably unintended. */
export type SpecWarning = (path: Path, warning: Warning) => void;

const reference = /\$\$\{|\$\{([^}]*)\}/g;
const variable = /^([A-Za-z_][A-Za-z0-9_]*)(?:(:-|:\?)([\s\S]*))?$/;

/**
 * Replaces references in string values: `${NAME}`, `${NAME:-default}`, `${NAME:?message}`, `${file:/run/secrets/key}`; `$${` is a literal
 * `${`. Inserted values are not searched for references again.
 *
 * Under `service.auth`, and for a `webhook`, only a single reference without a default is accepted, so that no key is in a file.
 * Everywhere else credentials are refused, however they get there.
 */
export function resolveReferences(value: unknown, from: ReferenceSource, credentials: FileCredentials, told: Told): unknown {
  return new Resolver(from, credentials, told).resolved(value, []);
}

/** Receives problems of references. */
interface Told {
  readonly problem: Problem;
  readonly unset: Unset;
}

class Resolver {
  constructor(
    private readonly from: ReferenceSource,
    private readonly credentials: FileCredentials,
    private readonly told: Told,
  ) {}

  resolved(value: unknown, path: Path): unknown {
    if (typeof value === 'string') return isSecret(path) ? this.#credential(value, path) : this.#ordinary(value, path);
    if (Array.isArray(value)) return value.map((item, index) => this.resolved(item, [...path, index]));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).flatMap(([key, item]) => this.#entry(key, item, [...path, key])));
  }

  #entry(key: string, item: unknown, path: Path): readonly (readonly [string, unknown])[] {
    if (!this.credentials.within(key)) return [[key, this.resolved(item, path)]];
    this.told.problem(path, misplaced, true);
    return [];
  }

  #credential(text: string, path: Path): string {
    if (referenceIn(text)) return this.#replaced(text, path);
    this.told.problem(path, 'a credential must be a reference, like ${NAME} or ${file:/run/secrets/key}, and never be written in the file');
    return text;
  }

  #ordinary(text: string, path: Path): string {
    // The rows of a test contain no references.
    const whole = path[0] === 'tests' ? text : this.#replaced(text, path);
    if (!this.credentials.within(whole)) return whole;
    this.told.problem(path, misplaced);
    return '[redacted]';
  }

  #replaced(text: string, path: Path): string {
    return text.replace(reference, (whole, body: string | undefined) => {
      if (body === undefined) return '${';
      return (body.startsWith('file:') ? this.#fromFile(body.slice(5), path) : this.#fromVariable(body, path)) ?? whole;
    });
  }

  #fromFile(name: string, path: Path): string | undefined {
    if (this.#withheld('file', pathOf(name, this.from), path)) return undefined;
    const content = this.from.read(name);
    if (content === undefined) this.told.unset(path, `file:${name}`, `the file ${name} cannot be read`);
    return content;
  }

  #fromVariable(body: string, path: Path): string | undefined {
    const [, name, operator, operand = ''] = variable.exec(body) ?? [];
    if (name === undefined) {
      this.told.problem(path, `'\${${body}}' is not a reference; write \${NAME}, \${NAME:-default}, \${NAME:?message} or \${file:PATH}`);
      return undefined;
    }
    if (this.#withheld('variable', name, path)) return undefined;
    const set = this.from.env[name];
    if (set !== undefined && set !== '') return set;
    if (operator === ':-') return operand;
    const message =
      operator === ':?' && operand !== ''
        ? `\${${name}}: ${operand}`
        : `the environment variable ${name} is ${set === '' ? 'empty' : 'not set'}`;
    this.told.unset(path, name, message);
    return undefined;
  }

  #withheld(kind: 'variable' | 'file', name: string, path: Path): boolean {
    if (isSecret(path) || !this.credentials.holds(kind, name)) return false;
    this.told.problem(path, `the ${kind} ${name} holds a credential, which is accepted only under service.auth`);
    return true;
  }
}

const misplaced = 'this is a credential, which is accepted only under service.auth, as a reference';

/** Returns whether a value is a credential: part of an account, or the address of a webhook. */
function isSecret(path: Path): boolean {
  if (path[1] === 'webhook') return hookNames.some((name) => name === path[0]);
  return path[0] === 'service' && path[1] === 'auth' && privacyAt(path.slice(2)) !== 'plain';
}
