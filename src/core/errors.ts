import { setMaxListeners } from 'node:events';
import { catalogue, type CodeOf, type ErrorCode, type ExitCode, type GeneralCode, type WarningCode } from './catalogue.js';
import { printable } from './text.js';

/** Something worth reporting that is not a failure. */
export interface Warning {
  readonly code: WarningCode;
  readonly message: string;
}

/** A signal of the system as an abort reason: its name, like `SIGTERM`, and the exit status of a process that it ends. */
export class SystemSignal extends Error {
  override readonly name: string = 'SystemSignal';

  constructor(
    readonly signal: string,
    readonly exit: ExitCode,
  ) {
    super(`${signal} was received`);
  }
}

/** Each class sets its name, because bundlers rename classes. */
class CataloguedError<Code extends ErrorCode = ErrorCode> extends Error {
  override readonly name: string = 'LeadstreamError';

  readonly code: Code;

  constructor(code: Code, message: string | readonly string[], options?: ErrorOptions) {
    super([message].flat().map(printable).join('\n'), options);
    this.code = code;
  }

  get lines(): readonly string[] {
    return this.message.split('\n');
  }

  get exit(): number {
    return this.cause instanceof SystemSignal ? this.cause.exit : catalogue[this.code].exit;
  }

  get retry(): boolean {
    return catalogue[this.code].retry;
  }

  get help(): string {
    return catalogue[this.code].help;
  }
}

/** A failure: what went wrong, where, and what to do next. It never contains a credential or personal data. */
export type LeadstreamError = CataloguedError;

/** The base of all failure classes; its own instances have the codes that belong to no subclass. */
export const LeadstreamError: new (code: GeneralCode, message: string | readonly string[], options?: ErrorOptions) => LeadstreamError =
  CataloguedError;

/** One problem of a pipeline file. Lines and columns are 1-based. */
export interface SpecIssue {
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

/**
 * Thrown for a pipeline file that its author must correct. The message has one `FILE:LINE:COLUMN message` line per problem.
 *
 * @example
 * await loadPipeline('leads.yaml').catch((error: unknown) => {
 *   if (error instanceof SpecError) for (const { line, column, message } of error.issues) console.error(line, column, message);
 * });
 */
export class SpecError extends CataloguedError<CodeOf<'SPEC'>> {
  override readonly name: string = 'SpecError';

  readonly issues: readonly SpecIssue[];
  /** Names of the file's pipelines, if readable. */
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

/** `transient` (network, timeout, 408, 425, 429, 5xx) and `suspect` (a 2xx response without records) are retried, `permanent` is not. */
export type FailureKind = 'transient' | 'suspect' | 'permanent';

export type SourceFailure = Partial<Pick<SourceError, 'status' | 'retryAfterMs' | 'systemCode'>>;

/**
 * Thrown when the service, or the connection to it, failed.
 *
 * @example
 * if (error instanceof SourceError && error.code === 'E_SOURCE_AUTH') await renewKey();
 */
export class SourceError extends CataloguedError<CodeOf<'SOURCE'>> {
  override readonly name: string = 'SourceError';

  readonly kind: FailureKind;
  readonly status: number | undefined;
  /** Milliseconds to wait, from `Retry-After`. */
  readonly retryAfterMs: number | undefined;
  /** The system's error code without a response, such as `ECONNREFUSED`. */
  readonly systemCode: string | undefined;

  constructor(code: CodeOf<'SOURCE'>, kind: FailureKind, message: string, details: SourceFailure = {}) {
    super(code, message);
    this.kind = kind;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
    this.systemCode = details.systemCode;
  }

  withMessage(message: string): SourceError {
    return new SourceError(this.code, this.kind, message, this);
  }
}

export function wrongOption(message: string): SourceError {
  return new SourceError('E_SOURCE_CONFIG', 'permanent', message);
}

/**
 * Thrown when a step cannot process a row or an argument.
 *
 * @example
 * if (error instanceof StepError) console.error(error.code, error.message); // E_STEP_FIELD filter: no row has zip
 */
export class StepError extends CataloguedError<CodeOf<'STEP'>> {
  override readonly name: string = 'StepError';
}

/**
 * Thrown when a destination failed.
 *
 * @example
 * if (error instanceof SinkError && error.code === 'E_SINK_FOREIGN') console.error('the path has files of another program');
 */
export class SinkError extends CataloguedError<CodeOf<'SINK'>> {
  override readonly name: string = 'SinkError';
}

/** A gate's reason for refusing to publish. */
export interface Violation {
  readonly code: CodeOf<'GATE'>;
  readonly message: string;
}

/** Creates the failure of what a signal stopped. Its `cause` is the signal's reason, possibly the deadline of a run. */
export function stoppedBy({ reason }: AbortSignal, message: string): LeadstreamError {
  const code = reason instanceof LeadstreamError && reason.code === 'E_RUN_DEADLINE' ? reason.code : 'E_RUN_ABORTED';
  return new LeadstreamError(code, message, { cause: reason });
}

/** Calls a function when a signal is aborted. @returns Removes the listener. */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  // Node warns about more than ten listeners on one signal; a server may pass one signal to many reads.
  setMaxListeners(0, signal);
  signal.addEventListener('abort', act, { once: true });
  return () => signal.removeEventListener('abort', act);
}

/** Does work that must end within 5 s of an abort. @param work Gets a signal that is aborted then, with the same reason. */
export function soonAfter<T>(signal: AbortSignal | undefined, work: (late: AbortSignal) => Promise<T>): Promise<T> {
  const late = new AbortController();
  const stop = () => void setTimeout(() => late.abort(signal?.reason), 5_000).unref();
  const left = signal && onAbort(signal, stop);
  if (signal?.aborted) stop();
  return work(late.signal).finally(left);
}

/**
 * Thrown when gates refused to publish what was read. The message has one line per gate; the code is that of the first.
 *
 * @example
 * await runPipeline(pipeline).catch((error: unknown) => {
 *   if (error instanceof GateError) console.error(error.message);
 * });
 */
export class GateError extends CataloguedError<CodeOf<'GATE'>> {
  override readonly name: string = 'GateError';

  static of(refusals: readonly Violation[]): GateError | undefined {
    const [first] = refusals;
    const messages = refusals.map(({ message }) => message);
    return first && new GateError(first.code, messages);
  }
}

const discreet = new WeakMap<object, string>();

/** Sets the message for places that must not identify records, such as events. */
export function withDiscreetMessage<E extends Error>(failure: E, message: string): E {
  discreet.set(failure, message);
  return failure;
}

export function discreetMessage(failure: Error): string {
  return discreet.get(failure) ?? failure.message;
}

export function warnProcess({ code, message }: Warning): void {
  process.emitWarning(message, { type: 'LeadstreamWarning', code });
}

/** Adds the origin of refused credentials, like `auth.rest_api_key is from ${NAME}`; returns any other error unchanged. */
export function withKeyOrigin(thrown: unknown, origin: string): unknown {
  const isAuth = thrown instanceof SourceError && thrown.code === 'E_SOURCE_AUTH';
  return isAuth ? thrown.withMessage(`${thrown.message}; ${origin}`) : thrown;
}

/** Describes what a user's function threw by its class, error code and place in the code: its message may hold data. */
export function whatWasThrown(thrown: unknown): string {
  if (!(thrown instanceof Error)) return thrown === null ? 'null' : `a value of type ${typeof thrown}`;
  const { name, message, stack = '' } = thrown;
  const code = 'code' in thrown && typeof thrown.code === 'string' && codePattern.test(thrown.code) ? ` ${thrown.code}` : '';
  // The message precedes the stack frames and may look like one.
  const at = stack.indexOf(message);
  const frames = at < 0 ? '' : stack.slice(at + message.length);
  const place = /^\s+at (?:.*\()?(?:file:\/\/)?(\/[^\n]*?:\d+:\d+)\)?$/m.exec(frames)?.[1];
  return `${namePattern.test(name) ? name : 'Error'}${code}${place === undefined ? '' : ` (at ${place})`}`;
}

const namePattern = /^[A-Za-z_$][\w$]{0,60}$/;
const codePattern = /^[A-Z0-9_]{2,40}$/;

/** Returns the text of anything thrown; some libraries throw strings. */
export function reasonOf(thrown: unknown): string {
  if (typeof thrown === 'object' && thrown !== null && 'message' in thrown) return String(thrown.message);
  return typeof thrown === 'string' ? thrown : 'unknown failure';
}

/** Converts what was thrown because a limit of open files or memory was reached; returns `undefined` for anything else. */
export function limitReached(thrown: unknown, message = reasonOf(thrown)): LeadstreamError | undefined {
  if (thrown instanceof LeadstreamError || typeof thrown !== 'object' || thrown === null) return undefined;
  const own = reasonOf(thrown);
  const code = 'code' in thrown ? String(thrown.code) : '';
  // If a thread did not start, only the message has the reason.
  const reason = code === 'ERR_WORKER_INIT_FAILED' ? (/\bE[A-Z]+$/.exec(own)?.[0] ?? '') : code;
  if (tooManyFiles.has(reason)) return new LeadstreamError('E_RUN_FILES', message, { cause: thrown });
  if (noMemory.has(reason) || ranOut.test(own)) return new LeadstreamError('E_RUN_MEMORY', message, { cause: thrown });
  return undefined;
}

const tooManyFiles: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE']);
const noMemory: ReadonlySet<string> = new Set(['ENOMEM', 'ERR_WORKER_OUT_OF_MEMORY', 'ERR_MEMORY_ALLOCATION_FAILED']);

/** V8's messages when it gets no memory; these errors have no code. */
const ranOut = /^(?:WebAssembly\.[^]*(?:out of memory|could not allocate)|Array buffer allocation failed)/i;

/** Returns the catalogue's entry of something thrown: what is neither our failure nor a limit of the system is a defect, `E_RUN_FAILED`. */
export function failureOf(thrown: unknown): Pick<LeadstreamError, 'code' | 'message' | 'help' | 'exit'> {
  const failure = limitReached(thrown) ?? thrown;
  if (failure instanceof LeadstreamError) return failure;
  const code = 'E_RUN_FAILED';
  const { help, exit } = catalogue[code];
  return { code, message: failure instanceof Error ? `${failure.name}: ${failure.message}` : 'something unknown was thrown', help, exit };
}
