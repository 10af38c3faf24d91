import { columnsOf } from '../collections/index.js';
import type { Column, Warning } from '../core/index.js';
import type { UndeclaredField } from '../lake/index.js';
import { writtenColumns, type Pipeline } from '../plan/index.js';
import { Findings } from '../source/index.js';
import type { FindingsReport } from './report.js';

/** The columns of a run: what was read so far fixes them, and what is read later is compared with them. */
export class RunColumns {
  readonly #placed: readonly Column[];

  /** @param earlier Undeclared fields that had a column in the last run. */
  constructor(
    private readonly pipeline: Pick<Pipeline, 'plan' | 'reveal'>,
    private readonly found: Findings,
    private readonly earlier: readonly UndeclaredField[],
  ) {
    this.#placed = found.placed;
  }

  get leaving(): readonly Column[] {
    return this.pipeline.plan.columns(this.#placed);
  }

  /** The undeclared fields that have a column, then those that arrived too late for one. */
  get undeclared(): readonly Column[] {
    // Late ones have no column yet, so that they get their names together.
    const names = new Findings(this.pipeline.plan.collection);
    names.reserve(this.#placed, [...this.found.unknown.keys()]);
    return names.placed;
  }

  /** The undeclared fields that arrived too late for a column in an output. */
  get missed(): readonly Column[] {
    const { leaving } = this;
    const { plan } = this.pipeline;
    return this.#late.filter((column) => {
      const after = plan.columns([...this.#placed, column]);
      return plan.sinks.some((sink) => writtenColumns(sink, after).length > writtenColumns(sink, leaving).length);
    });
  }

  /** Nothing is missing from a partial read. */
  findings(partial: boolean): FindingsReport {
    return findingsOf(this.found, this.#late, partial ? [] : this.#gone);
  }

  warnings({ gone, unknown }: FindingsReport): readonly Warning[] {
    const known = new Set(this.earlier.map(({ original }) => original));
    const fresh = Object.keys(unknown).filter((original) => !known.has(original));
    const placed = fresh.length > 0 ? this.leaving.filter(({ undeclared }) => undeclared) : [];
    const added = fresh.slice(0, most).map((field) => {
      const column = placed.find(({ original }) => original === field);
      const fate = column ? `it has the column ${column.name} from this run on` : 'it is in no output of this run';
      return `an undeclared field ${JSON.stringify(field)}; ${fate}`;
    });
    if (fresh.length > most) added.push(`${fresh.length - most} more undeclared fields`);
    const warn = (code: Warning['code'], message: string) => ({ code, message: `${this.pipeline.plan.collection.name}: ${message}` });
    const missing = `no row had these declared fields, so their columns are null: ${gone.join(', ')}`;
    return [
      ...(gone.length > 0 ? [warn('W_SOURCE_FIELD_GONE', missing)] : []),
      ...added.map((what) => warn('W_SOURCE_FIELD_NEW', `the service has ${what}`)),
    ];
  }

  get #late(): readonly Column[] {
    return this.undeclared.slice(this.#placed.length);
  }

  /** Declared fields that no row has, if there are rows; withheld ones do not count. */
  get #gone(): readonly string[] {
    const { plan, reveal } = this.pipeline;
    const { present } = this.found;
    return columnsOf(plan.collection, reveal).flatMap(({ name }) => (present.size === 0 || present.has(name) ? [] : [name]));
  }
}

/** Fields listed: where field names are data, there can be any number. */
const most = 20;

export function findingsOf(findings: Findings, late: readonly Column[] = [], gone: readonly string[] = []): FindingsReport {
  return {
    unknown: Object.fromEntries([...findings.unknown].map(([field, { rows }]) => [field, rows])),
    late: late.map(({ original }) => original),
    gone,
    missing: Object.fromEntries(findings.missing),
    notText: Object.fromEntries(findings.notText),
  };
}
