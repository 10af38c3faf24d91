import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Worker, type Transferable } from 'node:worker_threads';

/** Receives one call per request: the answer, or notice that there will be none. */
export interface Asking<Answer> {
  answered(answer: Answer): void;
  /**
   * @param reason Why the thread ended, without data.
   * @param cause What it threw, if anything.
   */
  lost(reason: string, cause: unknown): void;
}

/**
 * A worker thread that answers requests in any order. It keeps the process alive only while an answer is pending.
 *
 * @typeParam Answer What the thread posts, with the `id` of the request.
 */
export class Thread<Answer extends { readonly id: number }> {
  readonly #worker: Worker;
  readonly #asking = new Map<number, Asking<Answer>>();
  #asked = 0;
  #ending = false;
  #lost: string | undefined;
  #cause: unknown;

  /**
   * @param file Its module.
   * @param name For debuggers.
   */
  constructor(file: URL, name: string) {
    expectMovedBuffers();
    // The options of this process (--eval, --input-type, --inspect) do not apply to the thread, and some would make it fail.
    this.#worker = new Worker(file, { name, execArgv: [] });
    this.#worker.unref();
    this.#worker.on('message', (answer: Answer) => this.#answered(answer));
    this.#worker.on('messageerror', (thrown: unknown) => this.#end(thrown));
    this.#worker.on('error', (thrown: unknown) => this.#end(thrown));
    this.#worker.on('exit', () => this.#end(undefined));
  }

  /** Whether it has ended; requests to it then fail at once. */
  get ended(): boolean {
    return this.#lost !== undefined;
  }

  /**
   * Sends a request.
   *
   * @param request Creates the message for the given id.
   * @param moved Objects transferred to the thread, no longer usable here.
   * @returns The id.
   */
  ask(asking: Asking<Answer>, request: (id: number) => object, moved: readonly Transferable[] = []): number {
    this.#asked += 1;
    const id = this.#asked;
    if (this.#lost !== undefined) asking.lost(this.#lost, this.#cause);
    else {
      this.#asking.set(id, asking);
      this.#worker.ref();
      this.#worker.postMessage(request(id), moved);
    }
    return id;
  }

  /** Sends a message that has no answer. */
  say(message: object): void {
    this.#worker.postMessage(message);
  }

  /** Cancels a request. @param message Notifies the thread. */
  forget(id: number, message: object): void {
    if (!this.#asking.delete(id)) return;
    this.say(message);
    this.#rest();
  }

  /** Ends the thread; pending requests fail. */
  async end(): Promise<void> {
    // The caller waits for this, so an otherwise idle process must not exit before it is done, nor because of an answer that arrives meanwhile.
    this.#ending = true;
    this.#worker.ref();
    await this.#worker.terminate();
  }

  #answered(answer: Answer): void {
    const asking = this.#asking.get(answer.id);
    this.#asking.delete(answer.id);
    this.#rest();
    asking?.answered(answer);
  }

  #rest(): void {
    if (this.#asking.size === 0 && !this.#ending) this.#worker.unref();
  }

  #end(thrown: unknown): void {
    if (this.#lost === undefined) this.#cause = thrown;
    this.#lost ??= reasonOf(thrown);
    for (const asking of this.#asking.values()) asking.lost(this.#lost, this.#cause);
    this.#asking.clear();
  }
}

/**
 * V8 compiles code that assumes buffers never move, and discards all of it when the first one does, which costs 5 % of the CPU time in a
 * run of 100,000 leads. So a buffer is moved before there is such code.
 */
function expectMovedBuffers(): void {
  const buffer = new ArrayBuffer(1);
  structuredClone(buffer, { transfer: [buffer] });
}

/** Returns the error's code or class: a message can contain data. */
function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'it was stopped';
  return 'code' in thrown ? String(thrown.code) : thrown.name;
}

/**
 * Returns the file of a thread's module, next to the calling code; `undefined` if it is missing, as in a bundle without it and next to TypeScript source, or if
 * this process may not start threads (`node --permission` without `--allow-worker`).
 *
 * @param file Returns where it would be; in a CommonJS bundle this is unknown.
 */
export function threadFile(file: () => URL): URL | undefined {
  const { permission }: Permitted = process;
  if (permission?.has('worker') === false) return undefined;
  try {
    const url = file();
    return existsSync(url) ? url : undefined;
  } catch {
    return undefined;
  }
}

interface Permitted {
  /** Only under the permission model of Node. */
  readonly permission?: { has(scope: string): boolean };
}

/** Returns the default number of threads in addition to the main one: none on a machine with one core, and none if they are unavailable. */
export function defaultThreads(file: URL | undefined): 0 | 1 {
  return file !== undefined && availableParallelism() > 1 ? 1 : 0;
}

/**
 * Warns, once per name, that work runs in this thread because the requested one is unavailable.
 *
 * @param name Name of the module, which a bundle must include.
 */
export function warnOfNoThread(name: string): void {
  if (warned.has(name)) return;
  warned.add(name);
  const message = `threads: 1 needs the file ${name} next to the code, so a bundle must include it, and node --permission needs --allow-worker; without them, everything runs in this thread`;
  process.emitWarning(message, { type: 'LeadstreamThreadWarning', code: 'W_THREADS' });
}

const warned = new Set<string>();
