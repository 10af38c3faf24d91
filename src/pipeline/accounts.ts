import { discoveredColumns, type CollectionReader, type Findings } from '../client/index.js';
import type { Column, Row } from '../collections/index.js';
import { GateError, type Warning } from '../errors.js';
import type { Consistency, Page, Tally } from '../flow/index.js';
import { booksOf, checkBooks, sumTallies } from './books.js';
import type { Output } from './outputs.js';
import type { Pipeline } from './pipeline.js';
import type { PlannedStep } from './plan.js';
import type { Rejects } from './rejects.js';
import type { FindingsReport, RunReport, SinkReport } from './report.js';

/** What a run has counted, before its books are closed. */
export interface Accounts {
  readonly source: SourceCount;
  readonly consistency: Consistency;
  readonly sides: readonly SideCount[];
  readonly steps: readonly { readonly step: PlannedStep; readonly tally: Tally }[];
}

/** What is known of the other side of a join. */
export interface SideCount {
  readonly at: string;
  readonly collection: string;
  readonly consistency: Consistency;
  readonly findings: Findings;
}

/** Closes the books of every sink. */
export function closeBooks({ source, consistency, steps }: Accounts, finished: readonly Output[]): readonly SinkReport[] {
  const sum = sumTallies(steps.map(({ tally }) => tally));
  const read = { read: source.rows, repaired: consistency.repaired, duplicates: consistency.duplicates };
  return finished.map(({ at, staged, rejected, nulled }) => ({
    at,
    path: staged.path,
    bytes: staged.bytes,
    nulled,
    books: booksOf(read, sum, { written: staged.rows, rejected }),
  }));
}

/**
 * Checks everything that stands between a read and its publication.
 *
 * @param warn Told of what is recognised and is no failure.
 * @throws {GateError} When the read is unstable, books do not balance, a join found too few matches, or too many rows were rejected.
 */
export function judge(
  report: RunReport,
  { sides, steps }: Accounts,
  pipeline: Pipeline,
  rejects: Rejects,
  warn: (warning: Warning) => void,
): void {
  for (const read of [{ at: report.collection, consistency: report.consistency }, ...sides]) judgeConsistency(read.at, read.consistency);
  for (const { at, books } of report.sinks) checkBooks(at, books);
  for (const { step, tally } of steps) {
    const refusal = step.gate(tally);
    if (refusal !== undefined) throw new GateError('E_GATE_MATCH', `${step.at}: ${refusal}`);
  }
  rejects.check(report.rejects.rows, report.read + report.consistency.repaired);

  function judgeConsistency(at: string, { outcome, passes }: Consistency): void {
    if (outcome === 'unstable' && !pipeline.consistency.allowUnstable) {
      throw new GateError('E_GATE_CONSISTENCY', `${at}: ${passes} passes over the list went on finding rows that were missed`);
    }
    if (outcome !== 'drifted') return;
    const message = `${at}: pages changed while the list was read, so rows can be missing`;
    if (pipeline.connection.strict) throw new GateError('E_GATE_STRICT', `W_SOURCE_DRIFT: ${message}`);
    warn({ code: 'W_SOURCE_DRIFT', message });
  }
}

/** What came from the source. */
export type SourceCount = ReturnType<typeof countSource>;

/** Counts what is read, and remembers which unknown fields page 1 had: these become columns, later ones do not. */
export function countSource(reader: CollectionReader<Row>, reveal: readonly string[]) {
  let pages = 0;
  let rows = 0;
  let discovered: readonly Column[] | undefined;
  return {
    get pages() {
      return pages;
    },
    get rows() {
      return rows;
    },
    discovered: () => discovered ?? [],
    observe: (page: Page) => {
      pages += 1;
      rows += page.rows.length;
      discovered ??= inOrderOf(page.rows, discoveredColumns(reader.findings, reveal));
    },
  };
}

/** The columns that rows have, in the order in which the rows have them: answers may arrive in any order, pages do not. */
function inOrderOf(rows: readonly Row[], columns: readonly Column[]): readonly Column[] {
  const names = new Set(rows.flatMap((row) => Object.keys(row)));
  return [...names].flatMap((name) => columns.find((column) => column.name === name) ?? []);
}

/** What the rows had that the definition does not say, for the report. */
export function findingsOf(findings: Findings, discovered?: readonly Column[]): FindingsReport {
  const unknown = [...findings.unknown].map(([field, { rows }]) => [field, rows] as const);
  const late = [...findings.unknown].filter(
    ([, { column }]) => column.sensitivity !== 'secret' && !(discovered?.some(({ name }) => name === column.name) ?? true),
  );
  return {
    unknown: Object.fromEntries(unknown),
    late: late.map(([field]) => field),
    missing: Object.fromEntries(findings.missing),
    notText: Object.fromEntries(findings.notText),
  };
}
