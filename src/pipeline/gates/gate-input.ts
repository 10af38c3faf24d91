import type { Counts } from '../run/counts.js';
import type { Ledger } from '../run/ledger.js';
import type { Output } from '../run/outputs.js';
import type { Rejects } from '../run/rejects.js';
import type { RunReport } from '../run/report.js';
import type { Pipeline } from '../spec/pipeline.js';
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
