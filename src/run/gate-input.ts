import type { Counts } from './counts.js';
import type { Ledger } from './ledger.js';
import type { Output } from './outputs.js';
import type { Rejects } from './rejects.js';
import type { RunReport } from './report.js';
import type { Pipeline } from '../plan/index.js';
import type { Expectations } from './expectations.js';

/** The input of the gates. */
export interface GateInput {
  readonly pipeline: Pipeline;
  readonly report: RunReport;
  readonly ledger: Ledger;
  readonly outputs: readonly Output[];
  readonly rejects: Rejects;
  readonly expectations: Expectations | undefined;
  readonly counts: Counts;
  /** Whether lists and outputs may be smaller than before. */
  readonly allowShrink: boolean;
  /** Paths of complete outputs that existed before the run, by the place of the sink. */
  readonly standing: ReadonlyMap<string, string>;
}
