import { LeadstreamError, type Column } from '../core/index.js';
import type { Page } from '../flow/index.js';
import type { Published } from '../lake/index.js';
import type { PreparedOutput, SinkWriter } from './sink.js';

/** An output whose columns are not known yet. */
export interface OpenedSink {
  /** What was published there before, if known. */
  readonly earlier?: Published | undefined;
  /** Fixes the columns. */
  begin(columns: readonly Column[]): Promise<BegunSink>;
  /**
   * Removes everything that was written, in any phase.
   *
   * @param underWay Resolves when the running call has ended, successfully or not: it may still create a file.
   */
  abort(underWay: Promise<unknown>): Promise<void>;
}

/** An output that accepts rows. */
export interface BegunSink {
  write(page: Page): Promise<void>;
  prepare(): Promise<PreparedOutput>;
}

/**
 * Enforces the order `begin`, `write`…, `prepare`. After a failed call every further one except `abort` fails with the same error, so that an incomplete
 * output is never prepared. `abort` works once and at any time.
 */
export class PhasedWriter implements SinkWriter {
  /** `busy` during a call, and after `prepare`. */
  #phase: 'opened' | 'busy' | BegunSink = 'opened';
  #failure: unknown;
  #underWay: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly at: string,
    private readonly opened: OpenedSink,
  ) {}

  get earlier(): Published | undefined {
    return this.opened.earlier;
  }

  async begin(columns: readonly Column[]): Promise<void> {
    await this.#guard(async () => {
      if (this.#phase !== 'opened') throw this.#outOfOrder();
      this.#phase = 'busy';
      this.#phase = await this.opened.begin(columns);
    });
  }

  async write(page: Page): Promise<void> {
    await this.#guard(async () => {
      const begun = this.#begun();
      await begun.write(page);
      this.#phase = begun;
    });
  }

  prepare(): Promise<PreparedOutput> {
    return this.#guard(() => this.#begun().prepare());
  }

  async abort(): Promise<void> {
    this.#failure ??= new LeadstreamError('E_RUN_ABORTED', `${this.at}: was aborted`);
    await this.opened.abort(this.#underWay);
  }

  /** Returns the output, which is busy from now on. */
  #begun(): BegunSink {
    const begun = this.#phase;
    if (typeof begun === 'string') throw this.#outOfOrder();
    this.#phase = 'busy';
    return begun;
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      const call = work();
      this.#underWay = call.catch(() => undefined);
      return await call;
    } catch (thrown) {
      this.#failure = thrown;
      throw thrown;
    }
  }

  #outOfOrder(): LeadstreamError {
    return new LeadstreamError(
      'E_RUN_FAILED',
      `${this.at}: called out of order; the order is begin, write for each page, and prepare or abort`,
    );
  }
}
