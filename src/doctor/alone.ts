import type { Sample } from './chance.js';
import { isFailure, type Reply } from './reply.js';

/**
 * Counts the requests of lists that were sent one after another. One that was never answered fails for a reason of its own, as an unknown
 * identifier may, and says nothing of how often requests fail.
 */
export class SentAlone {
  readonly #lists = new Map<string, Map<string, Sample & { readonly isAnswered: boolean }>>();

  /** @param request What tells it from the other requests of the list. */
  count(list: string, request: string, reply: Reply): void {
    const requests = this.#lists.get(list) ?? new Map<string, Sample & { readonly isAnswered: boolean }>();
    const before = requests.get(request) ?? { requests: 0, failed: 0, isAnswered: false };
    requests.set(request, {
      requests: before.requests + 1,
      failed: before.failed + (isFailure(reply) ? 1 : 0),
      isAnswered: before.isAnswered || !isFailure(reply),
    });
    this.#lists.set(list, requests);
  }

  /** The requests of a list that were answered once at least, attempts included. */
  of(list: string): Sample {
    const counted = [...(this.#lists.get(list)?.values() ?? [])].filter(({ isAnswered }) => isAnswered);
    return {
      requests: counted.reduce((sum, { requests }) => sum + requests, 0),
      failed: counted.reduce((sum, { failed }) => sum + failed, 0),
    };
  }
}
