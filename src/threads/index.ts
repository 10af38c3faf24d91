import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Worker, type Transferable } from 'node:worker_threads';

/** Receives one call per request: the answer, or why the thread ended, without data, and what it threw, if anything. */
export interface Asking<Answer> {
  answered(answer: Answer): void;
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
  #sent = 0;
  #ending = false;
  #lost: { readonly reason: string; readonly cause: unknown } | undefined;

  /** @param name For debuggers. */
  constructor(file: URL, name: string) {
    // V8 compiles code that assumes that buffers never move, and discards all of it when one does: 5 % of the CPU time of a run of 100,000
    // leads. So a buffer is moved before such code exists.
    const buffer = new ArrayBuffer(1);
    structuredClone(buffer, { transfer: [buffer] });
    // The options of this process (--eval, --input-type, --inspect) are not meant for the thread, and some would make it fail.
    this.#worker = new Worker(file, { name, execArgv: [] });
    this.#worker.on('message', (answer: Answer) => this.#answered(answer));
    this.#worker.on('messageerror', (thrown: unknown) => this.#end(thrown));
    this.#worker.on('error', (thrown: unknown) => this.#end(thrown));
    this.#worker.on('exit', () => this.#end(undefined));
    // Listening to its messages would keep the process alive.
    this.#worker.unref();
  }

  get ended(): boolean {
    return this.#lost !== undefined;
  }

  /** Sends a request, and transfers the objects in `moved`. @returns Its id. */
  send(asking: Asking<Answer>, request: (id: number) => object, moved: readonly Transferable[] = []): number {
    this.#sent += 1;
    const id = this.#sent;
    if (this.#lost !== undefined) asking.lost(this.#lost.reason, this.#lost.cause);
    else {
      this.#asking.set(id, asking);
      this.#worker.ref();
      this.#worker.postMessage(request(id), moved);
    }
    return id;
  }

  /** Sends what has no answer of its own. */
  tell(message: object): void {
    this.#worker.postMessage(message);
  }

  /** Cancels a request, and sends the message. */
  forget(id: number, message: object): void {
    if (!this.#asking.delete(id)) return;
    this.#worker.postMessage(message);
    this.#rest();
  }

  async end(): Promise<void> {
    // The caller waits for this: an idle process must not exit before, nor stay because of an answer that arrives meanwhile.
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
    const { reason, cause } = (this.#lost ??= { reason: reasonOf(thrown), cause: thrown });
    for (const asking of this.#asking.values()) asking.lost(reason, cause);
    this.#asking.clear();
  }
}

/** Returns the error's code or class; its message can contain data. */
function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'it was stopped';
  return 'code' in thrown ? String(thrown.code) : thrown.name;
}

/** Returns a thread's file, if it exists (not next to TypeScript source or in some bundles) and this process may start threads. */
export function threadFile(file: () => URL): URL | undefined {
  const { permission }: { readonly permission?: { has(scope: string): boolean } } = process;
  if (permission?.has('worker') === false) return undefined;
  try {
    const url = file();
    return existsSync(url) ? url : undefined;
  } catch {
    return undefined;
  }
}

export function defaultThreads(file: URL | undefined): 0 | 1 {
  return file !== undefined && availableParallelism() > 1 ? 1 : 0;
}

/** Warns, once per module name, that work runs in this thread because the requested one is unavailable. */
export function warnOfNoThread(name: string): void {
  if (warned.has(name)) return;
  warned.add(name);
  const message = `threads: 1 needs the file ${name} next to the code, so a bundle must include it, and node --permission needs --allow-worker; without them, everything runs in this thread`;
  process.emitWarning(message, { type: 'LeadstreamThreadWarning', code: 'W_THREADS' });
}

const warned = new Set<string>();
