import type { Warning } from '../../core/index.js';
import type { FileCredentials } from './credentials.js';
import type { Path } from './document.js';
import { pathOf, referenceIn, type ReferenceSource } from './reference-source.js';

/** Takes one problem of the file: of a value, or with `onKey` of its key; `at` is the character meant of a text. */
export type Problem = (path: Path, message: string, onKey?: boolean, at?: number) => void;

/** Takes what is right in the file and probably not meant. */
export type SpecWarning = (path: Path, warning: Warning) => void;

const reference = /\$\$\{|\$\{([^}]*)\}/g;
const variable = /^([A-Za-z_][A-Za-z0-9_]*)(?:(:-|:\?)([\s\S]*))?$/;

/**
 * Replaces references in string values: `${NAME}`, `${NAME:-default}`, `${NAME:?message}`, `${file:/run/secrets/key}`;
 * `$${` is a literal `${`. What a reference stands for is not searched for references again.
 *
 * Under `service.auth` only a single reference without a default is accepted, so that no key stands in a file; everywhere else no
 * credential is, by whatever way it comes there.
 */
export function resolveReferences(
  value: unknown,
  from: ReferenceSource,
  credentials: FileCredentials,
  problem: Problem,
  path: Path = [],
): unknown {
  const inner = (item: unknown, key: string | number) => resolveReferences(item, from, credentials, problem, [...path, key]);
  if (typeof value === 'string') return isAuth(path) ? credential(value) : ordinary(value);
  if (Array.isArray(value)) return value.map(inner);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) => {
      if (!credentials.within(key)) return [[key, inner(item, key)]];
      problem([...path, key], misplaced, true);
      return [];
    }),
  );

  function credential(text: string): string {
    if (referenceIn(text)) return replaced(text);
    problem(path, 'a credential is given by a reference alone, like ${NAME} or ${file:/run/secrets/key}, never in the file');
    return text;
  }

  function ordinary(text: string): string {
    const whole = replaced(text);
    if (!credentials.within(whole)) return whole;
    problem(path, misplaced);
    return '[redacted]';
  }

  function replaced(text: string): string {
    return text.replace(reference, (whole, body: string | undefined) => {
      if (body === undefined) return '${';
      return (body.startsWith('file:') ? fromFile(body.slice(5)) : fromVariable(body)) ?? whole;
    });
  }

  function fromFile(name: string): string | undefined {
    if (withheld('file', pathOf(name, from))) return undefined;
    const content = from.read(name);
    if (content === undefined) problem(path, `the file ${name} cannot be read`);
    return content;
  }

  function fromVariable(body: string): string | undefined {
    const [, name, operator, operand = ''] = variable.exec(body) ?? [];
    if (name === undefined) {
      problem(path, `'\${${body}}' is no reference; write \${NAME}, \${NAME:-default}, \${NAME:?message} or \${file:PATH}`);
      return undefined;
    }
    if (withheld('variable', name)) return undefined;
    const set = from.env[name];
    if (set !== undefined && set !== '') return set;
    if (operator === ':-') return operand;
    problem(path, operator === ':?' && operand !== '' ? `\${${name}}: ${operand}` : `the environment variable ${name} is not set`);
    return undefined;
  }

  function withheld(kind: 'variable' | 'file', name: string): boolean {
    if (isAuth(path) || !credentials.holds(kind, name)) return false;
    problem(path, `the ${kind} ${name} holds a credential, which is accepted under service.auth alone`);
    return true;
  }
}

const misplaced = 'this is a credential, which is accepted only under service.auth, as a reference';

function isAuth(path: Path): boolean {
  // The name of a header is none.
  return path[0] === 'service' && path[1] === 'auth' && !(path[2] === 'header' && path[3] === 'name');
}
