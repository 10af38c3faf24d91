import type { Column, Row, Warning } from '../core/index.js';
import { batchOf, emptyTally, type Page } from '../flow/index.js';
import type { UndeclaredField } from '../lake/index.js';
import { writtenColumns, type Plan } from '../plan/index.js';
import { Findings, type CollectionReader } from '../source/index.js';
import type { RecordBatch } from '../vector/index.js';
import type { FindingsReport } from './report.js';

/** Counts what is read from the source, and notes which fields page 1 had and which no page has. */
export class SourceCount {
  pages = 0;
  rows = 0;
  /** Of rows in which a field has several values. */
  readonly tally = emptyTally();
  readonly findings: Findings;
  discovered: readonly Column[] = [];
  /** Declared fields without a value so far; withheld fields are not considered. */
  readonly #unseen: Set<string>;

  constructor(reader: CollectionReader<Row>, reveal: readonly string[]) {
    this.findings = reader.findings;
    const fields = Object.entries(reader.collection.fields);
    const shown = fields.filter(([name, { sensitivity }]) => sensitivity !== 'secret' || reveal.includes(name));
    this.#unseen = new Set(shown.map(([name]) => name));
  }

  get gone(): readonly string[] {
    return this.rows === 0 ? [] : [...this.#unseen].filter((name) => (this.findings.missing.get(name) ?? 0) >= this.rows);
  }

  readonly observe = (page: Page): void => {
    const batch = batchOf(page);
    if (this.pages === 0) this.discovered = this.findings.columns;
    this.pages += 1;
    this.rows += batch.length;
    for (const name of this.#unseen) if (comes(name, batch)) this.#unseen.delete(name);
  };
}

function comes(name: string, batch: RecordBatch): boolean {
  const vector = batch.columns.get(name);
  for (let row = 0; vector && row < vector.length; row += 1) if (vector.value(row) !== null) return true;
  return false;
}

/** The columns of a run: fixed by what was read so far, and compared with what is read later. */
export class RunColumns {
  /** The undeclared fields that have a column in this run: those of the last run, in their order, then the others of page 1. */
  readonly #placed: readonly Column[];

  /** @param found Undeclared fields that have a column in this run wherever they first appear, by the service's name. */
  constructor(
    private readonly plan: Plan,
    private readonly source: SourceCount,
    private readonly earlier: readonly UndeclaredField[],
    found: readonly string[],
  ) {
    const { unknown, fields } = plan.collection;
    const { discovered, findings } = source;
    const kept = earlier.filter(({ name, original }) => !Object.hasOwn(fields, name) && !findings.declared.has(original));
    // A field that has been renamed is recognized by the service's name.
    const originals = new Set([...[...kept, ...discovered].map(({ original }) => original), ...found]);
    this.#placed = unknown === 'secret' ? [] : [...originals].map((original) => findings.columnOf(original));
  }

  get leaving(): readonly Column[] {
    return this.plan.columns(this.#placed);
  }

  /** The undeclared fields that have a column, then those that arrived too late for one. */
  get undeclared(): readonly Column[] {
    return [...this.#placed, ...this.#late];
  }

  /** The undeclared fields that arrived too late, and would otherwise have a column in an output. */
  get missed(): readonly Column[] {
    const { plan, leaving } = this;
    return this.#late.filter((column) => {
      const after = plan.columns([...this.#placed, column]);
      return plan.sinks.some((sink) => writtenColumns(sink, after).length > writtenColumns(sink, leaving).length);
    });
  }

  /** Of a part, nothing is missing. */
  findings(partial: boolean): FindingsReport {
    return findingsOf(this.source.findings, this.#late, partial ? [] : this.source.gone);
  }

  warnings(partial: boolean): readonly Warning[] {
    const gone = partial ? [] : this.source.gone;
    const known = new Set(this.earlier.map(({ original }) => original));
    const fresh = [...this.source.findings.unknown.keys()].filter((original) => !known.has(original));
    const placed = fresh.length > 0 ? this.leaving.filter(({ undeclared }) => undeclared) : [];
    const added = fresh.slice(0, most).map((field) => {
      const column = placed.find(({ original }) => original === field);
      const fate = column ? `it is the column ${column.name} from this run on` : 'it is in no output of this run';
      return `an undeclared field ${JSON.stringify(field)}; ${fate}`;
    });
    if (fresh.length > most) added.push(`${fresh.length - most} more undeclared fields`);
    const warn = (code: Warning['code'], message: string) => ({ code, message: `${this.plan.collection.name}: ${message}` });
    const missing = `no row had these declared fields, whose columns are null throughout: ${gone.join(', ')}`;
    return [
      ...(gone.length > 0 ? [warn('W_SOURCE_FIELD_GONE', missing)] : []),
      ...added.map((what) => warn('W_SOURCE_FIELD_NEW', `the service has ${what}`)),
    ];
  }

  /** The undeclared fields that arrived too late for a column in this run, except withheld ones. */
  get #late(): readonly Column[] {
    const { collection } = this.plan;
    const placed = new Set(this.#placed.map(({ original }) => original));
    const late = [...this.source.findings.unknown.keys()].filter((original) => !placed.has(original));
    // They have no column yet, so that they can get their names together.
    const names = new Findings(collection);
    names.reserve(this.#placed, late);
    return collection.unknown === 'secret' ? [] : late.map((original) => names.columnOf(original));
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
