import type { Sample } from './chance.js';
import { isFailure, type Reply } from './reply.js';

/**
 * Counts list requests that were sent one at a time. A request that was never answered fails for a specific reason, such as an unknown identifier, so
 * it says nothing about how often requests fail.
 */
export class SentAlone {
  readonly #lists = new Map<string, Map<string, Sample & { readonly isAnswered: boolean }>>();

  /** @param request Identifies the request among those of the list. */
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

  /** Counts the requests of a list that were answered at least once, including retries. */
  of(list: string): Sample {
    const counted = [...(this.#lists.get(list)?.values() ?? [])].filter(({ isAnswered }) => isAnswered);
    return {
      requests: counted.reduce((sum, { requests }) => sum + requests, 0),
      failed: counted.reduce((sum, { failed }) => sum + failed, 0),
    };
  }
}
