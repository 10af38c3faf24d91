import { type CollectionReader, type Findings, newConsistency, type Consistency } from '../../source/index.js';
import type { Column, Row, Warning } from '../../core/index.js';
import { emptyTally, type Tally } from '../../flow/index.js';
import type { Published, RunFacts } from '../../lake/index.js';
import type { LookupCounts } from '../../steps/index.js';
import { rowCountsOf, sumTallies } from './row-counts.js';
import {
  countSource,
  fieldWarnings,
  findingsOf,
  lateColumns,
  remembered,
  undeclaredColumns,
  withoutRepeats,
  type SourceCount,
} from './fields.js';
import type { Output } from './outputs.js';
import type { Pipeline } from '../spec/pipeline.js';
import type { PlannedStep } from '../spec/plan.js';
import type { RunReport, SinkReport } from './report.js';
import type { ListCount } from '../gates/shrink.js';
import type { Run } from './start.js';

/** What a run counts, and what it knows of columns. */
export interface Ledger {
  readonly source: SourceCount;
  readonly consistency: Consistency;
  /** The other sides of joins, as they are opened. */
  readonly sides: SideCount[];
  /** The collections that joins look up single records in, as they are opened. */
  readonly lookups: LookupSide[];
  readonly steps: readonly { readonly step: PlannedStep; readonly tally: Tally }[];
  /** Fixes the columns of the rows by what was read so far and by what stands at the outputs. */
  fixColumns(earlier: readonly (Published | undefined)[]): readonly Column[];
  /** The columns that leave the last step when the source has these undeclared ones. */
  columns(undeclared: readonly Column[]): readonly Column[];
  /** The undeclared fields that have a place in this run, then those that came too late for one. */
  undeclared(): readonly Column[];
  /** The undeclared fields that came too late for a place in this run, and would have a column in an output if they had one. */
  missed(): readonly Column[];
  /** What is remarkable of the fields of the source; of a part of it, not what it lacks. */
  fieldWarnings(partial: boolean): readonly Warning[];
  /** All lists that were read to their end. */
  lists(partial: boolean): readonly Omit<ListCount, 'earlier'>[];
  /** Closes the books of every sink. */
  report(run: Pick<Run, 'runId' | 'startedAt' | 'warnings'>, finished: readonly Output[], how: HowRead): RunReport;
  /** What manifests say of the run. */
  facts(report: RunReport): RunFacts;
}

/** What a report says beside the counts. */
export interface HowRead extends Pick<RunReport, 'resumed' | 'since' | 'partial'> {
  /** Absolute path of the rejects. */
  readonly rejects: string | undefined;
}

/** What is known of the other side of a join. */
export interface SideCount {
  readonly at: string;
  readonly collection: string;
  readonly consistency: Consistency;
  readonly findings: Findings;
  /** Rows as they came. */
  rows: number;
}

/** What is known of a collection of which single records are looked up. */
export interface LookupSide {
  readonly at: string;
  readonly collection: string;
  readonly counts: LookupCounts;
  readonly findings: Findings;
}

/** The rows of a list, each once: those that came, without those that came again, and those that were missed at first. */
function listed(rows: number, { repaired, duplicates }: Consistency): number {
  return rows - duplicates + repaired;
}

/**
 * @param reader What reads the source; its findings are taken over.
 * @param found Undeclared fields that have a place in this run wherever they first come.
 */
export function openLedger(pipeline: Pipeline, reader: CollectionReader<Row>, found: readonly Column[] = []): Ledger {
  const { plan, reveal } = pipeline;
  const { findings } = reader;
  const source = countSource(reader, reveal);
  const consistency = newConsistency(pipeline.consistency.mode);
  const sides: SideCount[] = [];
  const lookups: LookupSide[] = [];
  const steps = plan.steps.map((step) => ({ step, tally: emptyTally() }));
  let earlier: readonly (Published | undefined)[] = [];
  let placed: readonly Column[] = [];
  const late = () => lateColumns(findings, placed);

  function closeCounts(finished: readonly Output[]): readonly SinkReport[] {
    const sum = sumTallies(steps.map(({ tally }) => tally));
    const read = { read: source.rows, repaired: consistency.repaired, duplicates: consistency.duplicates };
    return finished.map(({ at, prepared, rejected, nulled }) => ({
      at,
      path: prepared.path,
      bytes: prepared.bytes,
      total: prepared.total,
      changed: prepared.changed,
      nulled,
      books: rowCountsOf(read, sum, { written: prepared.rows, rejected, unchanged: prepared.unchanged }),
    }));
  }

  return {
    source,
    consistency,
    sides,
    lookups,
    steps,
    fixColumns: (published) => {
      earlier = published;
      placed = undeclaredColumns(plan.collection, earlier, withoutRepeats([...source.discovered, ...found]));
      return plan.columns(placed);
    },
    columns: plan.columns,
    undeclared: () => [...placed, ...late()],
    missed: () => {
      const before = plan.columns(placed);
      return late().filter((column) => {
        const after = plan.columns([...placed, column]);
        return plan.sinks.some(({ writes }) => writes(after).length > writes(before).length);
      });
    },
    fieldWarnings: (partial) =>
      fieldWarnings({
        collection: plan.collection,
        findings,
        gone: partial ? [] : source.gone,
        known: earlier.flatMap((published) => published?.undeclared ?? []),
        late: late(),
        leaving: plan.columns(placed),
        declared: plan.columns(),
      }),
    report: ({ runId, startedAt, warnings }, finished, { rejects, ...how }) => {
      const sinks = closeCounts(finished);
      return {
        pipeline: pipeline.name,
        runId,
        collection: plan.collection.name,
        startedAt,
        finishedAt: startedAt,
        pages: source.pages,
        read: source.rows,
        ...how,
        sinks,
        steps: steps.map(({ step, tally }) => ({ at: step.at, tally })),
        findings: findingsOf(findings, late(), how.partial ? [] : source.gone),
        warnings,
        consistency,
        sides: sides.map((side) => ({ ...side, rows: listed(side.rows, side.consistency), findings: findingsOf(side.findings) })),
        lookups: lookups.map(({ counts, findings: found, ...side }) => ({
          ...side,
          ...counts,
          checked: false,
          findings: findingsOf(found),
        })),
        rejects: { path: rejects, rows: Math.max(0, ...sinks.map(({ books }) => books.rejected)) },
      };
    },
    lists: (partial) => [
      ...(partial ? [] : [{ name: plan.collection.name, collection: plan.collection.name, rows: listed(source.rows, consistency) }]),
      ...sides.map((side) => ({
        name: `${side.collection} (${side.at})`,
        collection: side.collection,
        rows: listed(side.rows, side.consistency),
      })),
    ],
    facts: ({ runId, startedAt, pages, partial, collection, sinks, sides: joined }) => ({
      runId,
      pipeline: pipeline.name,
      fingerprint: pipeline.fingerprint,
      collection,
      pages,
      startedAt,
      consistency: consistency.outcome,
      partial,
      books: Object.fromEntries(sinks.map(({ at, books }) => [at, books])),
      undeclared: remembered([...placed, ...late()]),
      reads: Object.fromEntries<number>([
        ...joined.map((side) => [side.collection, side.rows] as const),
        ...(partial ? [] : [[collection, listed(source.rows, consistency)] as const]),
      ]),
    }),
  };
}
