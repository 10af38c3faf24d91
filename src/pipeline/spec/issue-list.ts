import type { SpecIssue, Warning } from '../../core/index.js';
import { getIn } from '../../options/index.js';
import type { FileCredentials } from './credentials.js';
import type { Path, SpecDocument } from './document.js';
import type { Problem, SpecWarning, Unset } from './references.js';

/** A problem of a document, with its position in the file. */
export interface Issue extends SpecIssue {
  /** Whether it is about a reference to a variable or file. */
  readonly reference: boolean;
  /** Whether it is in the defaults of the file, and was found in a pipeline that inherits it. */
  readonly inherited: boolean;
}

/** Something valid but probably unintended, with its position. */
export interface Doubt extends SpecIssue {
  readonly code: Warning['code'];
}

/** What the documents of a file share. */
export interface FileContext {
  readonly credentials: FileCredentials;
  /** Whether the environment may lack what the file refers to. */
  readonly lenient: boolean;
}

/** Collects the problems of a document. */
export class IssueList {
  readonly #all: Issue[] = [];
  readonly #unknown: Path[] = [];
  readonly #unset = new Set<string>();
  /** The document with its references replaced. */
  resolved: unknown;

  /**
   * @param file The credentials of the whole file, and whether references may be unresolved.
   * @param root Path in the document that the paths of problems are relative to.
   */
  constructor(
    private readonly document: SpecDocument,
    readonly file: FileContext,
    private readonly root: Path = [],
  ) {}

  get all(): readonly Issue[] {
    return this.#all;
  }

  /** Paths of the values whose references cannot be resolved. These values are not checked, nor is what depends on them. */
  get unknown(): readonly Path[] {
    return this.#unknown;
  }

  /** Unresolved references, in lenient mode. */
  get unset(): readonly string[] {
    return [...this.#unset];
  }

  /** Adds a problem, unless it depends on an unknown value; keys are always known. */
  readonly problem: Problem = (path, message, onKey, at) => {
    if (onKey === true || !dependsOn(path, this.#unknown)) this.#add(false, path, message, onKey, at);
  };

  /** Adds a problem of a value that a known reference gave. */
  readonly givenProblem: Problem = (path, message) => {
    if (!dependsOn(path, this.#unknown)) this.#add(true, path, message);
  };

  /** Adds a problem of a reference, which leaves the value unknown. */
  readonly referenceProblem: Problem = (path, message, onKey) => {
    this.#unresolved(path);
    this.#add(true, path, message, onKey);
  };

  /** Handles an unresolved reference: as a problem, or in lenient mode only as an unknown value. */
  readonly unsetProblem: Unset = (path, name, message) => {
    if (!this.file.lenient) return this.referenceProblem(path, message);
    this.#unset.add(name);
    this.#unresolved(path);
  };

  /** What the environment lacks for the document as a whole leaves all of its values known. */
  #unresolved(path: Path): void {
    if (path.length > 0) this.#unknown.push(path);
  }

  #add(reference: boolean, path: Path, message: string, onKey?: boolean, at?: number): void {
    const set = this.document.overridden.find((over) => isWithin(path, over) || (onKey === true && isWithin(over, path)));
    const told = this.file.credentials.redact(set ? `--set ${set.join('.')}: ${withoutKey(message, set)}` : message);
    const place = this.document.locate([...this.root, ...path], onKey, at !== undefined && this.#asWritten(path) ? at : undefined);
    this.#all.push({ message: told, ...place, reference, inherited: !set && this.document.inherits([...this.root, ...path]) });
  }

  /** Returns whether a value is as written: if a reference was replaced, character positions differ. */
  #asWritten(path: Path): boolean {
    return getIn(this.document.value, [...this.root, ...path]) === getIn(this.resolved, path);
  }
}

/** Returns whether what is said of a value depends on an unknown one: itself, one below it, or one that it is part of. */
export function dependsOn(path: Path, unknown: readonly Path[]): boolean {
  return unknown.some((each) => isWithin(path, each) || (path.length > 0 && isWithin(each, path)));
}

/** Returns whether a value of a step or sink is unknown, other than its path, which decides about nothing else. */
export function isOpen(at: Path, unknown: readonly Path[]): boolean {
  return unknown.some((each) => isWithin(each, at) && each[at.length] !== 'path');
}

/** Collects the doubts about a document. */
export class WarningList {
  readonly #all: Doubt[] = [];

  /**
   * @param unknown Paths of unknown values; doubts that depend on these are ignored.
   * @param refused Also receives each as a problem, if warnings are failures.
   */
  constructor(
    private readonly document: SpecDocument,
    private readonly credentials: FileCredentials,
    private readonly unknown: readonly Path[],
    private readonly refused: Problem | undefined,
  ) {}

  get all(): readonly Doubt[] {
    return this.#all;
  }

  /** The doubts as warnings, each message starting with its position. */
  get told(): readonly Warning[] {
    const { file } = this.document;
    return this.#all.map(({ code, message, line, column }) => ({ code, message: `${file}:${line}:${column} ${message}` }));
  }

  readonly add: SpecWarning = (path, { code, message }) => {
    if (dependsOn(path, this.unknown)) return;
    this.#all.push({ code, message: this.credentials.redact(message), ...this.document.locate(path) });
    this.refused?.(path, message);
  };
}

/**
 * Returns the problems of a file, reporting inherited ones once for all pipelines.
 *
 * @param defaults Problems found in the defaults alone.
 * @param pipelines Problems found in the pipelines, by name.
 */
export function issuesOfFile(
  defaults: readonly Issue[],
  pipelines: readonly { readonly name: string | undefined; readonly issues: readonly Issue[] }[],
): readonly Issue[] {
  const found = new Set(defaults.map(idOf));
  const inherited = new Map<string, { readonly issue: Issue; readonly names: string[] }>();
  for (const { name = '(unnamed)', issues } of pipelines) {
    for (const issue of issues.filter((candidate) => candidate.inherited && !found.has(idOf(candidate)))) {
      const known = inherited.get(idOf(issue));
      if (known) known.names.push(name);
      else inherited.set(idOf(issue), { issue, names: [name] });
    }
  }
  return [
    ...defaults,
    ...[...inherited.values()].map(({ issue, names }) => ({
      ...issue,
      message: `${issue.message} (inherited by ${[...new Set(names)].map((name) => `'${name}'`).join(', ')})`,
    })),
    ...pipelines.flatMap(({ issues }) => issues.filter((issue) => !issue.inherited)),
  ].toSorted((a, b) => a.line - b.line || a.column - b.column);
}

function idOf({ line, column, message }: SpecIssue): string {
  return `${line}:${column} ${message}`;
}

/** Returns whether a path is the same as another one, or below it. */
function isWithin(inner: Path, outer: Path): boolean {
  return outer.every((part, index) => part === inner[index]);
}

/** Removes the key at the start of a message, if it was already mentioned. */
function withoutKey(message: string, path: Path): string {
  const key = `${String(path.at(-1))}: `;
  return message.startsWith(key) ? message.slice(key.length) : message;
}
