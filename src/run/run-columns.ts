import type { Column, Warning } from '../core/index.js';
import type { Findings } from '../source/index.js';
import type { Published } from '../lake/index.js';
import type { Plan } from '../plan/index.js';
import { fieldWarnings, findingsOf, lateColumns, undeclaredColumns, withoutRepeats, type SourceCount } from './fields.js';
import type { FindingsReport } from './report.js';

/** The sources of a run's columns. */
export interface ColumnSources {
  readonly plan: Plan;
  readonly source: SourceCount;
  readonly findings: Findings;
  /** What is at the outputs. */
  readonly earlier: readonly (Published | undefined)[];
  /** Undeclared fields that have a column in this run wherever they first appear. */
  readonly found: readonly Column[];
}

/** The columns of a run: fixed by what was read when this is created, and compared with what is read later. */
export class RunColumns {
  /** The undeclared fields that have a column in this run. */
  readonly #placed: readonly Column[];

  constructor(private readonly from: ColumnSources) {
    const { plan, source, earlier, found } = from;
    this.#placed = undeclaredColumns(plan.collection, earlier, withoutRepeats([...source.discovered, ...found]));
  }

  /** The columns that leave the last step. */
  get leaving(): readonly Column[] {
    return this.from.plan.columns(this.#placed);
  }

  /** The undeclared fields that have a column, then those that arrived too late for one. */
  get undeclared(): readonly Column[] {
    return [...this.#placed, ...this.#late];
  }

  /** The undeclared fields that arrived too late, and would otherwise have a column in an output. */
  get missed(): readonly Column[] {
    const { plan } = this.from;
    const before = this.leaving;
    return this.#late.filter((column) => {
      const after = plan.columns([...this.#placed, column]);
      return plan.sinks.some(({ writes }) => writes(after).length > writes(before).length);
    });
  }

  /** Returns warnings about the fields of the source; for a partial read, missing fields are not included. */
  warnings(partial: boolean): readonly Warning[] {
    const { plan, findings, earlier } = this.from;
    return fieldWarnings({
      collection: plan.collection,
      findings,
      gone: this.#gone(partial),
      known: earlier.flatMap((published) => published?.undeclared ?? []),
      late: this.#late,
      flow: () => ({ leaving: this.leaving, next: plan.columns(this.undeclared), declared: plan.columns() }),
    });
  }

  /** Returns the findings about the fields of the source, for a report. */
  findings(partial: boolean): FindingsReport {
    return findingsOf(this.from.findings, this.#late, this.#gone(partial));
  }

  get #late(): readonly Column[] {
    return lateColumns(this.from.findings, this.#placed);
  }

  #gone(partial: boolean): readonly string[] {
    return partial ? [] : this.from.source.gone;
  }
}
