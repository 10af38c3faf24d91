import { columnsOf, partsOfList } from '../collections/index.js';
import { byName, origins, outcomes, snakeCase, wordOf } from '../core/index.js';
import type { Column, Consistency, Row, RowCounts, Violation, Warning } from '../core/index.js';
import { countOf, emptyTally, type Page, type Tally } from '../flow/index.js';
import type { RunFacts, UndeclaredField } from '../lake/index.js';
import { accountsOf, type Pipeline, type PlannedStep } from '../plan/index.js';
import { Findings, registryOf, type CollectionReader } from '../source/index.js';
import type { LookupCounts } from '../steps/index.js';
import type { Output } from './outputs.js';
import type { FindingsReport, RunReport, SinkReport } from './report.js';

/** The parts of a report that are not counts; of the rejects, the path. */
export type HowRead = Pick<RunReport, 'resumed' | 'since' | 'partial'> & { readonly rejects: string | undefined };

type Side = { readonly at: string; readonly collection: string; readonly findings: Findings };

export class Ledger {
  readonly source: { pages: number; rows: number; readonly tally: Tally; readonly findings: Findings };
  /** The other sides of joins, with their rows as they arrived. */
  readonly sides: (Side & { readonly consistency: Consistency; rows: number })[] = [];
  readonly lookups: (Side & { readonly counts: LookupCounts })[] = [];
  readonly steps: readonly { readonly step: PlannedStep; readonly tally: Tally }[];
  /** Rows of the list before those that are read. */
  offset = 0;
  /** Undeclared fields that had a column in the last run. */
  #earlier: readonly UndeclaredField[] = [];
  /** The undeclared fields that have a column, once the columns are fixed. */
  #placed: readonly Column[] | undefined;

  constructor(
    private readonly pipeline: Pipeline,
    reader: CollectionReader<Row>,
    readonly consistency: Consistency,
  ) {
    this.source = { pages: 0, rows: 0, tally: emptyTally(), findings: reader.findings };
    this.steps = pipeline.plan.steps.map((step) => ({ step, tally: emptyTally() }));
  }

  /**
   * Keeps the names that the last run gave undeclared fields; called before anything is read.
   * @param found Fields with a column in this run wherever they first appear, by the service's name.
   * @param named Fields that have a name in this run.
   */
  continue(earlier: readonly UndeclaredField[], found: readonly string[], named = earlier): void {
    this.#earlier = earlier;
    this.source.findings.reserve(named, found);
  }

  readonly onPage = (page: Page): void => {
    this.source.pages += 1;
    this.source.rows += countOf(page);
  };

  readonly fixColumns = (): readonly Column[] => {
    this.#placed ??= this.source.findings.placed;
    return this.pipeline.plan.columns(this.#placed);
  };

  get #fixed(): readonly Column[] {
    if (!this.#placed) throw new Error('the columns of the run are not fixed yet');
    return this.#placed;
  }

  /** The undeclared fields that have a column, then those that arrived too late for one. */
  get undeclared(): readonly Column[] {
    // Late ones have no column yet, so that they get their names together.
    const names = new Findings(this.pipeline.plan.collection);
    names.reserve(this.#fixed, [...this.source.findings.unknown.keys()]);
    return names.placed;
  }

  get #late(): readonly Column[] {
    return this.undeclared.slice(this.#fixed.length);
  }

  /** The undeclared fields that arrived too late for a column in an output. */
  get missed(): readonly Column[] {
    const { plan } = this.pipeline;
    const leaving = plan.columns(this.#fixed);
    return this.#late.filter((column) => {
      const after = plan.columns([...this.#fixed, column]);
      return plan.sinks.some(({ definition: { writes }, config }) => writes(config, after).length > writes(config, leaving).length);
    });
  }

  /** Warns of declared fields that no row has, and of undeclared ones that the last run did not have. */
  fieldWarnings({ gone, unknown }: FindingsReport): readonly Warning[] {
    const { plan } = this.pipeline;
    const fresh = Object.keys(unknown).filter((field) => !this.#earlier.some(({ original }) => original === field));
    const placed = fresh.length > 0 ? plan.columns(this.#fixed).filter(({ undeclared }) => undeclared) : [];
    const added = fresh.slice(0, most).map((field) => {
      const column = placed.find(({ original }) => original === field);
      const fate = column ? `it has the column ${column.name} from this run on` : 'it is in no output of this run';
      return `an undeclared field ${JSON.stringify(field)}; ${fate}`;
    });
    if (fresh.length > most) added.push(`${fresh.length - most} more undeclared fields`);
    const warn = (code: Warning['code'], message: string) => ({ code, message: `${plan.collection.name}: ${message}` });
    const missing = `no row had these declared fields, so their columns are null: ${gone.join(', ')}`;
    return [
      ...(gone.length > 0 ? [warn('W_SOURCE_FIELD_GONE', missing)] : []),
      ...added.map((what) => warn('W_SOURCE_FIELD_NEW', `the service has ${what}`)),
    ];
  }

  /**
   * Refuses fields that a file declares and no row has, if the service sends one of the same column name: that would be an undeclared
   * one, whose masks and secrecy are not those declared.
   */
  misdeclared(): readonly Violation[] {
    const { name: list, fields } = this.pipeline.plan.collection;
    const { present, unknown } = this.source.findings;
    const standard = registryOf()[partsOfList(list)[1]]?.fields ?? {};
    const declared = Object.keys(fields).filter((name) => !Object.hasOwn(standard, name) && !present.has(name));
    return [...unknown.keys()].flatMap((sent): readonly Violation[] => {
      const name = snakeCase(sent);
      const message = `${list}: no row has the field that ${name} is declared to be, but rows have ${JSON.stringify(sent)}; say it as at`;
      return declared.includes(name) ? [{ code: 'E_GATE_SCHEMA', message }] : [];
    });
  }

  /** Nothing is missing from a partial read; otherwise fields that no row has, if there are rows. Withheld ones do not count. */
  #findings(partial: boolean): FindingsReport {
    const { plan, reveal } = this.pipeline;
    const { findings } = this.source;
    if (!this.#placed) return findingsOf(findings);
    const isGone = !partial && this.offset === 0 && findings.present.size > 0;
    const gone = isGone ? columnsOf(plan.collection, reveal).filter(({ name }) => !findings.present.has(name)) : [];
    return {
      ...findingsOf(findings),
      late: this.#late.map(({ original }) => original),
      gone: gone.map(({ name }) => name),
    };
  }

  /** `at`: what a list was read as, the collection or the step that joins it. */
  lists(partial: boolean) {
    const { name } = this.pipeline.plan.collection;
    const sides = this.sides.map(({ at, collection, rows, consistency }) => {
      return { at, name: `${collection} (${at})`, collection, rows: listed(rows, consistency) };
    });
    const rows = this.offset + listed(this.source.rows, this.consistency);
    return partial ? sides : [{ at: name, name, collection: name, rows }, ...sides];
  }

  /** By collection; one that is both the source and a side counts as the source. */
  reads(partial: boolean): Readonly<Record<string, number>> {
    const lists = this.lists(partial).map(({ collection, rows }) => [collection, rows] as const);
    return Object.fromEntries(lists.toReversed());
  }

  report(run: Pick<RunReport, 'runId' | 'startedAt' | 'warnings'>, finished: readonly Output[], { rejects, ...read }: HowRead): RunReport {
    const { repaired, duplicates } = this.consistency;
    const tallies = [this.source.tally, ...this.steps.map(({ tally }) => tally)];
    const rejected = tallies.reduce((sum, tally) => sum + tally.rejected, 0);
    const counted = { read: this.source.rows, repaired, duplicates };
    const sinks = finished.map(({ at, prepared, counts }): SinkReport => {
      const { path, bytes, total, changed, merged, rows: written, unchanged } = prepared;
      const nulled = counts.nulled + this.source.tally.nulled;
      const books = rowCountsOf(counted, [...tallies, counts], { written, unchanged });
      return { at, path, bytes, total, changed, ...(merged && { merged }), nulled, books };
    });
    return {
      pipeline: this.pipeline.name,
      runId: run.runId,
      collection: this.pipeline.plan.collection.name,
      startedAt: run.startedAt,
      finishedAt: run.startedAt,
      pages: this.source.pages,
      read: this.source.rows,
      ...(this.offset > 0 && { scope: 'since' as const }),
      ...read,
      sinks,
      steps: this.steps.map(({ step, tally }) => ({ at: step.at, tally })),
      findings: this.#findings(read.partial),
      warnings: run.warnings,
      consistency: this.consistency,
      sides: this.sides.map((side) => ({ ...side, rows: listed(side.rows, side.consistency), findings: findingsOf(side.findings) })),
      lookups: this.lookups.map(({ counts, findings, ...side }) => {
        return { ...side, ...counts, checked: false, findings: findingsOf(findings) };
      }),
      gates: [],
      rejects: { path: rejects, rows: Math.max(rejected, ...sinks.map(({ books }) => books.rejected)) },
    };
  }

  facts({ startedAt, pages, partial, scope, collection, sinks }: RunReport): RunFacts {
    const { name: pipeline, fingerprint, connection } = this.pipeline;
    return {
      ...{ pipeline, fingerprint, collection, pages, startedAt, consistency: this.consistency.outcome, partial, scope },
      ...{ service: connection.baseUrl, account: accountsOf(this.pipeline) },
      books: Object.fromEntries(sinks.map(({ at, books }) => [at, books])),
      undeclared: this.undeclared.map(({ name, original }) => ({ name, original })),
      reads: this.reads(partial),
    };
  }
}

/** Fields listed: where field names are data, there can be any number. */
const most = 20;

function findingsOf({ counts }: Findings): FindingsReport {
  return { ...counts, late: [], gone: [] };
}

function listed(rows: number, { repaired, duplicates }: Consistency): number {
  return rows - duplicates + repaired;
}

/** Adds up what was counted of the rows of a list, of the steps and the `where` of a sink, and of the sink. */
export function rowCountsOf(
  read: Pick<RowCounts, 'read' | 'repaired' | 'duplicates'>,
  steps: readonly Tally[],
  sink: Pick<RowCounts, 'written' | 'unchanged'>,
): RowCounts {
  const parts: readonly Partial<RowCounts>[] = [read, ...steps, sink];
  return byName([...origins, ...outcomes], (name) => parts.reduce((sum, { [name]: rows = 0 }) => sum + rows, 0));
}

/** Compares what a merge did with the rows that its output has, by its files. */
export function refuseMerged({ at, total, merged, books }: SinkReport): readonly Violation[] {
  if (!merged) return [];
  const { before, inserted, changed, unchanged, deleted, closed = 0 } = merged;
  const isWhole = before + inserted - deleted + closed === total;
  if (isWhole && inserted + changed === books.written && unchanged === books.unchanged) return [];
  const message = `${at}: ${JSON.stringify(merged)} do not add up to its ${total} rows, or are not those of the run`;
  return [{ code: 'E_GATE_BOOKS', message }];
}

export function refuseCounts(at: string, books: RowCounts): readonly Violation[] {
  const came = origins.reduce((sum, origin) => sum + books[origin], 0);
  const went = outcomes.reduce((sum, outcome) => sum + books[outcome], 0);
  if (came === went) return [];
  const sumOf = (names: readonly (keyof RowCounts)[]) => names.map((name) => `${wordOf(name)} ${books[name]}`).join(' + ');
  const message = `${at}: ${sumOf(origins)} = ${came}, but ${sumOf(outcomes)} = ${went}`;
  return [{ code: 'E_GATE_BOOKS', message }];
}
