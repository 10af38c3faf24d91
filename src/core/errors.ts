import { catalogue, type CodeOf, type ErrorCode, type GeneralCode } from './catalogue.js';
import type { ExitCode } from './exit-codes.js';
import type { WarningCode } from './warnings.js';
import { printable } from './printable.js';

/** Something recognised that is no failure. */
export interface Warning {
  readonly code: WarningCode;
  readonly message: string;
}

/** A signal of the system, as the reason of what it stops. */
export class SystemSignal extends Error {
  static override readonly name: string = 'SystemSignal';

  /**
   * @param signal Its name, like `SIGTERM`.
   * @param exit Exit status of a process that it ends.
   */
  constructor(
    readonly signal: string,
    readonly exit: ExitCode,
  ) {
    super(`${signal} was received`);
    this.name = 'SystemSignal';
  }
}

/** What all failures have, with a code of `Code`. Each class says its name, since bundlers change those of classes. */
class CataloguedError<Code extends ErrorCode = ErrorCode> extends Error {
  /** @internal */
  static override readonly name: string = 'LeadstreamError';

  readonly code: Code;

  constructor(code: Code, message: string | readonly string[], options?: ErrorOptions) {
    super([message].flat().map(printable).join('\n'), options);
    this.name = new.target.name;
    this.code = code;
  }

  /** The message by lines: one per problem or gate. */
  get lines(): readonly string[] {
    return this.message.split('\n');
  }

  /** Exit status of a process that ends with this error. */
  get exit(): number {
    return this.cause instanceof SystemSignal ? this.cause.exit : catalogue[this.code].exit;
  }

  /** Whether the same call can succeed later without a change. */
  get retry(): boolean {
    return catalogue[this.code].retry;
  }

  /** What to do next. */
  get help(): string {
    return catalogue[this.code].help;
  }
}

/**
 * A failure that says what went wrong, where, and what to do next. It never carries a credential or a person's data.
 *
 * Several messages make one line each. Names that come from outside stand in them, so that control characters are shown as escapes.
 */
export type LeadstreamError = CataloguedError;

/** Failures of every class are instances of it. What is made of it directly has a code that no class has for itself. */
export const LeadstreamError: new (code: GeneralCode, message: string | readonly string[], options?: ErrorOptions) => LeadstreamError =
  CataloguedError;

/**
 * Whether what failed can succeed when it is tried again without a change: a service that is down, say, and not a wrong option.
 *
 * @param error Anything that was thrown. What is no error of leadstream is not judged: `false`.
 *
 * @example
 * const retry$ = retry({ count: 3, delay: (error) => (isRetryable(error) ? timer(60_000) : throwError(() => error)) });
 */
export function isRetryable(error: unknown): boolean {
  return error instanceof CataloguedError && error.retry;
}

/** One problem of a pipeline file. Lines and columns are 1-based. */
export interface SpecIssue {
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

/**
 * The author of a pipeline file has to act. The message has one `FILE:LINE:COLUMN message` line per problem.
 *
 * @example
 * await loadPipeline('leads.yaml').catch((error: unknown) => {
 *   if (error instanceof SpecError) for (const { line, column, message } of error.issues) console.error(line, column, message);
 * });
 */
export class SpecError extends CataloguedError<CodeOf<'SPEC'>> {
  /** @internal */
  static override readonly name: string = 'SpecError';

  readonly issues: readonly SpecIssue[];
  /** Names of the pipelines of the file, as far as they can be made out. */
  readonly pipelines: readonly string[];

  constructor(code: CodeOf<'SPEC'>, file: string, issues: readonly SpecIssue[], pipelines: readonly string[] = []) {
    super(
      code,
      issues.map((issue) => `${file}:${issue.line}:${issue.column} ${issue.message}`),
    );
    this.issues = issues;
    this.pipelines = pipelines;
  }
}

/**
 * How an attempt failed: `transient` (network, timeout, 408, 425, 429, 5xx) is tried again, `suspect` (an answer of
 * status 2xx that is no list of records) is tried again a few times, `permanent` never.
 */
export type FailureKind = 'transient' | 'suspect' | 'permanent';

/** What is known of a failure to read besides its words. */
export interface SourceFailure {
  readonly status?: number | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly systemCode?: string | undefined;
}

/**
 * The service, or the way to it, failed.
 *
 * @example
 * if (error instanceof SourceError && error.code === 'E_SOURCE_AUTH') await renewKey();
 */
export class SourceError extends CataloguedError<CodeOf<'SOURCE'>> {
  /** @internal */
  static override readonly name: string = 'SourceError';

  readonly kind: FailureKind;
  /** HTTP status, when there was an answer. */
  readonly status: number | undefined;
  /** Milliseconds that the service asked to wait (`Retry-After`). */
  readonly retryAfterMs: number | undefined;
  /** What the system calls it when there was no answer, as `ECONNREFUSED`; the message has the host with it. */
  readonly systemCode: string | undefined;

  constructor(code: CodeOf<'SOURCE'>, kind: FailureKind, message: string, details: SourceFailure = {}) {
    super(code, message);
    this.kind = kind;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
    this.systemCode = details.systemCode;
  }

  /** The same failure in other words. */
  saying(message: string): SourceError {
    return new SourceError(this.code, this.kind, message, this);
  }
}

/**
 * A step met a row or an argument that it cannot work with.
 *
 * @example
 * if (error instanceof StepError) console.error(error.code, error.message); // E_STEP_FIELD filter: no row has zip
 */
export class StepError extends CataloguedError<CodeOf<'STEP'>> {
  /** @internal */
  static override readonly name: string = 'StepError';
}

/**
 * A destination failed.
 *
 * @example
 * if (error instanceof SinkError && error.code === 'E_SINK_FOREIGN') console.error('the path has files of another program');
 */
export class SinkError extends CataloguedError<CodeOf<'SINK'>> {
  /** @internal */
  static override readonly name: string = 'SinkError';
}

/** What one gate has against publishing. */
export interface Violation {
  readonly code: CodeOf<'GATE'>;
  readonly message: string;
}

/** What was stopped by a signal: its reason is the `cause`, so that a timeout can be told from somebody's decision. */
export function stoppedBy(signal: AbortSignal, message: string): LeadstreamError {
  return new LeadstreamError('E_RUN_ABORTED', message, { cause: signal.reason });
}

/**
 * Gates refused to publish what was read. The message has one line per gate; the code is that of the first.
 *
 * @example
 * await runPipeline(pipeline, { keepFailed: true }).catch((error: unknown) => {
 *   if (error instanceof GateError) console.error(error.message, error.kept);
 * });
 */
export class GateError extends CataloguedError<CodeOf<'GATE'>> {
  /** @internal */
  static override readonly name: string = 'GateError';

  /** Where the outputs are that were put aside for inspection instead of removed; absolute paths. */
  readonly kept: readonly string[];

  constructor(
    code: CodeOf<'GATE'>,
    message: string | readonly string[],
    { kept = [], ...options }: ErrorOptions & { readonly kept?: readonly string[] } = {},
  ) {
    super(code, message, options);
    this.kept = kept;
  }

  /** All that was refused, as one error; `undefined` when that is nothing. */
  static of(refusals: readonly Violation[]): GateError | undefined {
    const [first] = refusals;
    return (
      first &&
      new GateError(
        first.code,
        refusals.map(({ message }) => message),
      )
    );
  }

  /** The same failure, with outputs that were kept. */
  keeping(kept: readonly string[]): GateError {
    return new GateError(this.code, this.lines, { kept, cause: this });
  }
}
