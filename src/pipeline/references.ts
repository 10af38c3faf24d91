import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Warning } from '../errors.js';
import type { Path } from './document.js';

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What references stand for. */
export interface ReferenceSource {
  readonly env: Environment;
  /** Folder that the paths of `${file:…}` resolve against. */
  readonly baseDir: string;
}

/** Takes one problem of the file. */
export type Problem = (path: Path, message: string, onKey?: boolean) => void;

/** Takes what is right in the file and probably not meant. */
export type SpecWarning = (path: Path, warning: Warning) => void;

const reference = /\$\$\{|\$\{([^}]*)\}/g;
const variable = /^([A-Za-z_][A-Za-z0-9_]*)(?:(:-|:\?)([\s\S]*))?$/;

/**
 * Replaces references in string values: `${NAME}`, `${NAME:-default}`, `${NAME:?message}`, `${file:/run/secrets/key}`;
 * `$${` is a literal `${`. What a reference stands for is not searched for references again.
 *
 * Under `service.auth` only a single reference without a default is accepted, so that no key stands in a file.
 */
export function resolveReferences(value: unknown, from: ReferenceSource, problem: Problem, path: Path = []): unknown {
  if (typeof value === 'string') return resolveText(value, from, problem, path);
  if (Array.isArray(value)) return value.map((item, index) => resolveReferences(item, from, problem, [...path, index]));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolveReferences(item, from, problem, [...path, key])]));
}

function resolveText(text: string, { env, baseDir }: ReferenceSource, problem: Problem, path: Path): string {
  if (path[0] === 'service' && path[1] === 'auth' && !/^\$\{(?:file:[^}]+|[A-Za-z_][A-Za-z0-9_]*(?::\?[^}]*)?)\}$/.test(text)) {
    problem(path, 'a credential is given by a reference alone, like ${NAME} or ${file:/run/secrets/key}, never in the file');
    return text;
  }
  return text.replace(reference, (whole, body: string | undefined) => {
    if (body === undefined) return '${';
    return (body.startsWith('file:') ? fromFile(body.slice(5), baseDir, problem, path) : fromVariable(body, env, problem, path)) ?? whole;
  });
}

function fromFile(name: string, baseDir: string, problem: Problem, path: Path): string | undefined {
  try {
    return readFileSync(resolve(baseDir, name), 'utf8').replace(/\r?\n$/, '');
  } catch {
    problem(path, `the file ${name} cannot be read`);
    return undefined;
  }
}

function fromVariable(body: string, env: Environment, problem: Problem, path: Path): string | undefined {
  const [, name, operator, operand = ''] = variable.exec(body) ?? [];
  if (name === undefined) {
    problem(path, `'\${${body}}' is no reference; write \${NAME}, \${NAME:-default}, \${NAME:?message} or \${file:PATH}`);
    return undefined;
  }
  const value = env[name];
  if (value !== undefined && value !== '') return value;
  if (operator === ':-') return operand;
  problem(path, operator === ':?' && operand !== '' ? `\${${name}}: ${operand}` : `the environment variable ${name} is not set`);
  return undefined;
}
