import type { Counts } from '../run/counts.js';
import type { Ledger } from '../run/ledger.js';
import type { Output } from '../run/outputs.js';
import type { Rejects } from '../run/rejects.js';
import type { RunReport } from '../run/report.js';
import type { Pipeline } from '../spec/pipeline.js';
import type { Expectations } from './expectations.js';

/** What a run is judged by. */
export interface GateInput {
  readonly pipeline: Pipeline;
  readonly report: RunReport;
  readonly ledger: Ledger;
  readonly outputs: readonly Output[];
  readonly rejects: Rejects;
  readonly expectations: Expectations | undefined;
  readonly counts: Counts;
  /** Whether lists and outputs may be as small as they are. */
  readonly allowShrink: boolean;
  /** Where something whole stood before the run, by the place of the sink. */
  readonly standing: ReadonlyMap<string, string>;
}
