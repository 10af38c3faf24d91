import type { OperationEvent } from '../../index.js';

/** An attempt at a request, and how long it took. */
export interface SlowRequest {
  /** Without credentials. */
  readonly url: string;
  /** From 1. */
  readonly attempt: number;
  /** HTTP status, if an answer came. */
  readonly status?: number;
  readonly ms: number;
}

/** Most requests that are listed. */
const most = 5;

/** The requests that took the longest. */
export class SlowestRequests {
  readonly #ranked: SlowRequest[] = [];

  /** At most five, longest first. */
  get ranked(): readonly SlowRequest[] {
    return [...this.#ranked];
  }

  add({ url, attempt, status: answered, error }: OperationEvent<'request'>, took: number): void {
    const ms = Math.round(took);
    const behind = this.#ranked.findIndex((known) => known.ms < ms);
    const status = answered ?? error?.status;
    const place = behind < 0 ? this.#ranked.length : behind;
    this.#ranked.splice(place, 0, { url, attempt, ...(status !== undefined && { status }), ms });
    this.#ranked.splice(most);
  }
}
