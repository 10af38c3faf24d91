import type { Check, DiagnosisFinding } from './diagnosis.js';
import type { Reply } from './reply.js';

/** Collects what is found out, each point with the requests that show it. */
export class Findings {
  /** @param collection The collection of one's own that they are about. Default: they are about the service, and what it has. */
  constructor(
    private readonly collection?: string,
    private readonly collected: DiagnosisFinding[] = [],
  ) {}

  get all(): readonly DiagnosisFinding[] {
    return this.collected;
  }

  /** The same, for what is found out about a collection of one's own. */
  about(collection: string): Findings {
    return new Findings(collection, this.collected);
  }

  add(check: Check, outcome: DiagnosisFinding['outcome'], message: string, replies: readonly Reply[] = []): void {
    this.collected.push(this.#finding(check, outcome, message, replies));
  }

  /** Puts what was found out later in place of what was said of a point. */
  correct(check: Check, outcome: DiagnosisFinding['outcome'], message: string, replies: readonly Reply[]): void {
    const before = this.collected.findIndex((found) => found.check === check && found.collection === this.collection);
    this.collected[before < 0 ? this.collected.length : before] = this.#finding(check, outcome, message, replies);
  }

  /** Says why a point could not be found out. */
  unknown(check: Check, why: string, replies: readonly Reply[] = []): void {
    this.add(check, 'unknown', `not determined: ${why}`, replies);
  }

  /** Says of all points that nothing was said of why not. */
  unknownRest(checks: readonly Check[], why: string): void {
    const known = this.collected.filter(({ collection }) => collection === this.collection).map(({ check }) => check);
    for (const check of checks) if (!known.includes(check)) this.unknown(check, why);
  }

  #finding(check: Check, outcome: DiagnosisFinding['outcome'], message: string, replies: readonly Reply[]): DiagnosisFinding {
    const { collection } = this;
    return { check, ...(collection !== undefined && { collection }), outcome, message, evidence: replies.map(({ evidence }) => evidence) };
  }
}

/** What came, in a few words: `HTTP 404 with an object with the keys error`. */
export function cameOf({ kind, evidence: { status, answer } }: Reply): string {
  if (status === undefined) return answer;
  return kind === 'rows' || kind === 'none' ? answer : `HTTP ${status} (${answer})`;
}
