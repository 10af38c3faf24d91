import type { Check, DiagnosisFinding } from './diagnosis.js';
import type { Reply } from './reply.js';

/** Collects what is found out, each point with the requests that show it. */
export class Findings {
  readonly #all: DiagnosisFinding[] = [];

  get all(): readonly DiagnosisFinding[] {
    return this.#all;
  }

  add(check: Check, outcome: DiagnosisFinding['outcome'], message: string, replies: readonly Reply[] = []): void {
    this.#all.push({ check, outcome, message, evidence: replies.map(({ evidence }) => evidence) });
  }

  /** Says why a point could not be found out. */
  unknown(check: Check, why: string, replies: readonly Reply[] = []): void {
    this.add(check, 'unknown', `not determined: ${why}`, replies);
  }

  /** Says of all points that nothing was said of why not. */
  unknownRest(checks: readonly Check[], why: string): void {
    for (const check of checks) if (!this.#all.some((finding) => finding.check === check)) this.unknown(check, why);
  }
}

/** What came, in a few words: `HTTP 404 with an object with the keys error`. */
export function cameOf({ kind, evidence: { status, answer } }: Reply): string {
  if (status === undefined) return answer;
  return kind === 'rows' || kind === 'none' ? answer : `HTTP ${status} (${answer})`;
}
