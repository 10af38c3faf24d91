import { Worker, type Transferable } from 'node:worker_threads';

/** What asks is told once: the answer, or that there will be none. */
export interface Asking<Answer> {
  answered(answer: Answer): void;
  /**
   * @param reason Why the thread ended, in words without data.
   * @param cause What it threw, if it did.
   */
  lost(reason: string, cause: unknown): void;
}

/**
 * A thread that answers what it is asked, in any order. It keeps the process alive only while somebody waits for an answer.
 *
 * @typeParam Answer What the thread posts: it bears the `id` of what was asked.
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
    // The options of this process (--eval, --input-type, --inspect) are none of the thread's, and some let it fail.
    this.#worker = new Worker(file, { name, execArgv: [] });
    this.#worker.unref();
    this.#worker.on('message', (answer: Answer) => this.#answered(answer));
    this.#worker.on('messageerror', (thrown: unknown) => this.#end(thrown));
    this.#worker.on('error', (thrown: unknown) => this.#end(thrown));
    this.#worker.on('exit', () => this.#end(undefined));
  }

  /** Whether it ended; whoever asks it then is told at once. */
  get ended(): boolean {
    return this.#lost !== undefined;
  }

  /**
   * Asks something.
   *
   * @param request Makes the message for the id under which it is asked.
   * @param moved What goes to the thread and is gone here.
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

  /** Says something that has no answer. */
  say(message: object): void {
    this.#worker.postMessage(message);
  }

  /** Tells that an answer is not wanted any more. @param message What the thread gets to know of it. */
  forget(id: number, message: object): void {
    if (!this.#asking.delete(id)) return;
    this.say(message);
    this.#rest();
  }

  /** Ends the thread; who still waits is told. */
  async end(): Promise<void> {
    // Somebody waits for it now, and a process that has nothing else to do must not end before; nor by an answer that comes meanwhile.
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
 * V8 compiles code for buffers that never move until the first one does, and then throws all of that code away: in a run of 100,000 leads 5 %
 * of its CPU time. So one moves before there is such code.
 */
function expectMovedBuffers(): void {
  const buffer = new ArrayBuffer(1);
  structuredClone(buffer, { transfer: [buffer] });
}

/** Its code or its class: a message can hold data. */
function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'it was stopped';
  return 'code' in thrown ? String(thrown.code) : thrown.name;
}
