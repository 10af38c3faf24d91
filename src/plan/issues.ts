import type { z } from 'zod';
import type { Redactor, SpecError, SpecIssue, Warning } from '../core/index.js';
import { getIn, schemaProblems, setIn } from '../options/index.js';
import type { Path, SpecDocument } from './document.js';

/** Receives a problem of a value, or with `onKey` of its key. */
export type Problem = (path: Path, message: string, onKey?: boolean) => void;

export interface Issue extends SpecIssue {
  readonly code: SpecError['code'] | Warning['code'];
}

export class IssueList {
  readonly all: Issue[] = [];
  readonly warnings: (Issue & Warning)[] = [];
  /** What may surprise, but is no warning. */
  readonly notes: string[] = [];
  /** Paths of the values with unresolved references. They and what depends on them are not checked. */
  readonly unknown: Path[] = [];
  readonly unset: string[] = [];

  constructor(
    private readonly document: SpecDocument,
    private readonly redact: Redactor,
    private readonly lenient: boolean,
  ) {}

  /** Adds a problem, unless it depends on an unknown value; keys are always known. */
  readonly problem: Problem = (path, message, onKey) => {
    if (onKey === true || !this.#isUnknown(path)) this.#add('E_SPEC_INVALID', path, message, onKey);
  };

  /** Adds a problem of a reference, whose value is then unknown. */
  readonly referenceProblem: Problem = (path, message, onKey) => {
    this.#unresolved(path);
    this.#add('E_SPEC_REFERENCE', path, message, onKey);
  };

  readonly unsetProblem = (path: Path, name: string, message: string): void => {
    if (!this.lenient) return this.referenceProblem(path, message);
    this.unset.push(name);
    this.#unresolved(path);
  };

  readonly warn = (path: Path, { code, message }: Warning): void => {
    if (!this.#isUnknown(path)) this.warnings.push({ code, message: this.redact(message), ...this.document.locate(path) });
  };

  readonly note = (path: Path, sentence: string): void => void this.notes.push(`line ${this.document.locate(path).line}: ${sentence}`);

  /** What the environment lacks for the whole document leaves its values known. */
  #unresolved(path: Path): void {
    if (path.length > 0) this.unknown.push(path);
  }

  #add(code: Issue['code'], path: Path, message: string, onKey?: boolean): void {
    const set = this.document.overridden.find((over) => isWithin(path, over) || (onKey === true && isWithin(over, path)));
    const redacted = this.redact(set ? `--set ${set.join('.')}: ${message}` : message);
    this.all.push({ code, message: redacted, ...this.document.locate(path, onKey) });
  }

  /** Returns whether a value is unknown, or one below it or above it. */
  #isUnknown(path: Path): boolean {
    return this.unknown.some((each) => isWithin(path, each) || (path.length > 0 && isWithin(each, path)));
  }
}

function isWithin(inner: Path, outer: Path): boolean {
  return outer.every((part, index) => part === inner[index]);
}

type ZodIssue = z.core.$ZodIssue;

/** Converts text where a schema requires a number or boolean. @returns `undefined` for an invalid value. */
export function validated<T>(schema: z.ZodType<T>, value: unknown, at: Path, problem: Problem): T | undefined {
  const asText = schema.safeParse(value);
  if (asText.success) return asText.data;
  const spelled = { value: structuredClone(value) };
  for (const issue of asText.error.issues.flatMap(alternativesOf)) {
    const path = ['value', ...issue.path];
    const converted = issue.code === 'invalid_type' ? convert(issue.expected, getIn(spelled, path)) : undefined;
    if (converted !== undefined) setIn(spelled, path, converted);
  }
  const { success, data } = schema.safeParse(spelled.value);
  if (success) return data;
  for (const { path, message, onKey } of schemaProblems(schema, spelled.value, at)) problem(path, message, onKey);
  return undefined;
}

function alternativesOf(issue: ZodIssue): readonly ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  return issue.errors.flat().flatMap((inner) => alternativesOf({ ...inner, path: [...issue.path, ...inner.path] }));
}

function convert(expected: string, text: unknown): number | boolean | undefined {
  if (typeof text !== 'string') return undefined;
  if (expected === 'boolean' && /^(?:true|false)$/.test(text)) return text === 'true';
  if ((expected === 'number' || expected === 'int') && /^-?\d+(?:\.\d+)?$/.test(text)) return Number(text);
  return undefined;
}
