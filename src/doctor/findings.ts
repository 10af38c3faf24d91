import type { Check, DiagnosisFinding } from './diagnosis.js';
import type { Reply } from './reply.js';

/** Collects the findings, each with the requests that support it. */
export class Findings {
  /** @param collection The custom collection they are about. Default: the service and its collections. */
  constructor(
    private readonly collection?: string,
    private readonly collected: DiagnosisFinding[] = [],
  ) {}

  get all(): readonly DiagnosisFinding[] {
    return this.collected;
  }

  /** Returns findings about a custom collection, collected along with these. */
  about(collection: string): Findings {
    return new Findings(collection, this.collected);
  }

  add(check: Check, outcome: DiagnosisFinding['outcome'], message: string, replies: readonly Reply[] = []): void {
    this.collected.push(this.#finding(check, outcome, message, replies));
  }

  /** Replaces an earlier finding by a later result. */
  correct(check: Check, outcome: DiagnosisFinding['outcome'], message: string, replies: readonly Reply[]): void {
    const before = this.collected.findIndex((found) => found.check === check && found.collection === this.collection);
    this.collected[before < 0 ? this.collected.length : before] = this.#finding(check, outcome, message, replies);
  }

  /** Reports why a check has no result. */
  unknown(check: Check, why: string, replies: readonly Reply[] = []): void {
    this.add(check, 'unknown', `not determined: ${why}`, replies);
  }

  /** Reports the remaining checks as unknown. */
  unknownRest(checks: readonly Check[], why: string): void {
    const known = this.collected.filter(({ collection }) => collection === this.collection).map(({ check }) => check);
    for (const check of checks) if (!known.includes(check)) this.unknown(check, why);
  }

  #finding(check: Check, outcome: DiagnosisFinding['outcome'], message: string, replies: readonly Reply[]): DiagnosisFinding {
    const { collection } = this;
    return { check, ...(collection !== undefined && { collection }), outcome, message, evidence: replies.map(({ evidence }) => evidence) };
  }
}

/** Summarizes an answer: `HTTP 404 with an object with the keys error`. */
export function cameOf({ kind, evidence: { status, answer } }: Reply): string {
  if (status === undefined) return answer;
  return kind === 'rows' || kind === 'none' ? answer : `HTTP ${status} (${answer})`;
}
