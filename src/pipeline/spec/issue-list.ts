import type { SpecIssue, Warning } from '../../core/index.js';
import { getIn } from '../../options/index.js';
import type { FileCredentials } from './credentials.js';
import type { Path, SpecDocument } from './document.js';
import type { Problem, SpecWarning, Unset } from './references.js';
import { StandIns, type End } from './stand-ins.js';

/** What is wrong with a document, at its place in the file. */
export interface Issue extends SpecIssue {
  /** Whether it is about a reference to the environment. */
  readonly reference: boolean;
  /** Whether it stands in the defaults of the file, and was found in a pipeline that inherits it. */
  readonly inherited: boolean;
}

/** Something that is right and probably not meant, at its place. */
export interface Doubt extends SpecIssue {
  readonly code: Warning['code'];
}

/** What the documents of a file have in common. */
export interface FileContext {
  readonly credentials: FileCredentials;
  /** Whether the environment may lack what the file asks of it. */
  readonly lenient: boolean;
}

/** Gathers what is wrong with a document. */
export class IssueList {
  readonly #all: Issue[] = [];
  /** Where values are unknown, because their references stand for nothing. */
  readonly #unresolved = new Map<string, Path>();
  /** The paths that have a problem. */
  readonly #places = new Set<string>();
  readonly #unset = new Set<string>();
  /** What the document holds once its references are replaced. */
  resolved: unknown;

  /**
   * @param file The credentials of the whole file, and whether what it asks of the environment may be missing here.
   * @param root Where in the document the paths begin that problems have.
   */
  constructor(
    private readonly document: SpecDocument,
    private readonly file: FileContext,
    private readonly root: Path = [],
  ) {}

  get all(): readonly Issue[] {
    return this.#all;
  }

  /** What the environment lacks and may lack, by its names. */
  get unset(): readonly string[] {
    return [...this.#unset];
  }

  /** Takes what the environment lacks: a problem, or where that may be, something that cannot be judged. */
  unsetOf(): Unset {
    return (path, name, message) => {
      if (!this.file.lenient) return this.problemOf(true)(path, message);
      this.#unset.add(name);
      this.#unresolve(path);
    };
  }

  /** What is asked of the environment for a document as a whole is none of its values. */
  #unresolve(path: Path): void {
    if (path.length > 0) this.#unresolved.set(path.join('.'), path);
  }

  /** @param reference Whether the problems are those of references. */
  problemOf(reference: boolean): Problem {
    return (path, message, onKey, at) => {
      if (reference) this.#unresolve(path);
      this.#places.add(path.join('.'));
      const set = this.document.overridden.find((over) => isWithin(path, over) || (onKey === true && isWithin(over, path)));
      const told = this.file.credentials.redact(
        set ? `--set ${set.join('.')}: ${withoutKey(message, set)}${setHint(message, set)}` : message,
      );
      const place = this.document.locate([...this.root, ...path], onKey, at !== undefined && this.#asWritten(path) ? at : undefined);
      this.#all.push({ message: told, ...place, reference, inherited: !set && this.document.inherits([...this.root, ...path]) });
    };
  }

  /** The same without problems of values that have one already. */
  ofUnreported(problem: Problem): Problem {
    const reported = new Set(this.#places);
    return (path, ...told) => (reported.has(path.join('.')) ? undefined : problem(path, ...told));
  }

  /** The same without problems of unknown values; their keys are known. */
  ofKnown(problem: Problem): Problem {
    return (path, message, onKey, at) => {
      if (onKey === true || !this.#unresolved.has(path.join('.'))) problem(path, message, onKey, at);
    };
  }

  /** What stands in for the values that are unknown by now. */
  standIns(end: End): StandIns {
    return new StandIns([...this.#unresolved.values()], end);
  }

  /** Forgets the problems that another list does not have. */
  keepThoseOf(other: IssueList): void {
    const kept = new Set(other.#all.map(idOf));
    this.#all.splice(0, Infinity, ...this.#all.filter((issue) => kept.has(idOf(issue))));
  }

  /** Where a reference was replaced, characters stand elsewhere. */
  #asWritten(path: Path): boolean {
    return getIn(this.document.value, [...this.root, ...path]) === getIn(this.resolved, path);
  }
}

/** The ways of `--set` to what it cannot take as a whole. */
function setHint(message: string, set: Path): string {
  if (message.includes('expected a list')) return `; set its items, as in --set ${[...set, 0].join('.')}=…`;
  return message.includes('expected a map') ? `; set its keys, as in --set ${set.join('.')}.KEY=…` : '';
}

/** Gathers what is right in a document and probably not meant. */
export class WarningList {
  readonly #all: Doubt[] = [];

  /**
   * @param standIns What depends on a value that is unknown may be meant.
   * @param refused Takes each as a problem, too, where warnings are failures.
   */
  constructor(
    private readonly document: SpecDocument,
    private readonly credentials: FileCredentials,
    private readonly standIns: StandIns,
    private readonly refused: Problem | undefined,
  ) {}

  get all(): readonly Doubt[] {
    return this.#all;
  }

  /** The same with their places in front of their messages. */
  get told(): readonly Warning[] {
    const { file } = this.document;
    return this.#all.map(({ code, message, line, column }) => ({ code, message: `${file}:${line}:${column} ${message}` }));
  }

  readonly add: SpecWarning = (path, warning) => {
    if (this.standIns.within(path)) return;
    this.addOfTests(path, warning);
    this.refused?.(path, warning.message);
  };

  /** Adds what is doubtful in a test: no run has to do with it. */
  readonly addOfTests: SpecWarning = (path, { code, message }) => {
    this.#all.push({ code, message: this.credentials.redact(message), ...this.document.locate(path) });
  };

  /** Forgets the doubts that another list does not have. */
  keepThoseOf(other: WarningList): void {
    const kept = new Set(other.#all.map(idOf));
    this.#all.splice(0, Infinity, ...this.#all.filter((doubt) => kept.has(idOf(doubt))));
  }
}

/**
 * What is wrong with a file: what several pipelines inherit is told once.
 *
 * @param defaults What was found in the defaults by themselves.
 * @param pipelines What was found in the pipelines, by their names.
 */
export function issuesOfFile(
  defaults: readonly Issue[],
  pipelines: readonly { readonly name: string | undefined; readonly issues: readonly Issue[] }[],
): readonly Issue[] {
  const found = new Set(defaults.map(idOf));
  const inherited = new Map<string, { readonly issue: Issue; readonly names: string[] }>();
  for (const { name = 'without a name', issues } of pipelines) {
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

/** Whether a place is another one, or in it. */
function isWithin(inner: Path, outer: Path): boolean {
  return outer.every((part, index) => part === inner[index]);
}

/** A problem without the key that it begins with, where that was said before. */
function withoutKey(message: string, path: Path): string {
  const key = `${String(path.at(-1))}: `;
  return message.startsWith(key) ? message.slice(key.length) : message;
}
