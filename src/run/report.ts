import { amount, amountOf, counted, mergeWords, origins, outcomes, printable, wordOf } from '../core/index.js';
import type { Consistency, MergeCounts, RowCounts, Violation, Warning } from '../core/index.js';
import type { CountedStep } from '../flow/index.js';
import type { LookupCounts } from '../steps/index.js';

/** What a run did, for people and machines, without credentials and personal data. */
export interface RunReport {
  readonly pipeline: string;
  readonly runId: string;
  readonly collection: string;
  /** ISO 8601 in UTC. */
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly pages: number;
  /** Whether a limit ended the read. Such a run is never compared with later ones. */
  readonly partial: boolean;
  /** Present if only the end of the list was read, by `since`: `consistency` is of that. */
  readonly scope?: 'since';
  readonly read: number;
  /** Pages spooled by an interrupted run. */
  readonly resumed: number;
  /** Start of the first run whose pages are used, ISO 8601. */
  readonly since: string;
  readonly sinks: readonly SinkReport[];
  readonly steps: readonly StepReport[];
  readonly findings: FindingsReport;
  readonly warnings: readonly Warning[];
  readonly consistency: Consistency;
  readonly sides: readonly {
    readonly at: string;
    readonly collection: string;
    readonly rows: number;
    readonly consistency: Consistency;
    readonly findings: FindingsReport;
  }[];
  /** Lookups of single records by joins. Changes during the run are not checked. */
  readonly lookups: readonly (Readonly<LookupCounts> & {
    readonly at: string;
    readonly collection: string;
    readonly checked: false;
    readonly findings: FindingsReport;
  })[];
  readonly rejects: { readonly path: string | undefined; readonly rows: number };
  /** Empty if the run failed before its gates. */
  readonly gates: readonly GateResult[];
}

/** The result of one gate. */
export interface GateResult {
  /** `consistency`, `max_read_shrink`, `strict`, `books`, `min_match`, `rejects`, `schema`, or `expect.…` as in the file. */
  readonly gate: string;
  /** The list, step or sink that it checked, if several are possible. */
  readonly at: string | undefined;
  /** `overridden`: by `--allow-shrink`. `not compared`: there is no earlier run, or a limit. `not checked`: `consistency` is off. */
  readonly outcome: 'passed' | 'refused' | 'overridden' | 'not compared' | 'not checked';
  readonly violations: readonly Violation[];
  /** For `max_read_shrink`: rows of the list, now and before. */
  readonly rows?: number;
  readonly rowsBefore?: number;
}

/** What a step counted. */
export type StepReport = CountedStep;

/** What happened to the rows at one sink. */
export interface SinkReport {
  readonly at: string;
  /** Of the result; `undefined` for stdout. */
  readonly path: string | undefined;
  readonly bytes: number;
  /** Rows of the output: those of this run, and those that an append left in place. */
  readonly total: number;
  /** Rows that an append skipped although their content differs. */
  readonly changed: number;
  /** What a merge did to the rows of the output. */
  readonly merged?: MergeCounts;
  readonly nulled: number;
  readonly books: RowCounts;
}

/** How the rows deviate from the collection's definition. Counts are rows, by the service's field name. */
export interface FindingsReport {
  readonly unknown: Readonly<Record<string, number>>;
  /** Unknown fields that first appeared after page 1, too late for this run. */
  readonly late: readonly string[];
  /** Declared fields that no row had; their columns are null. */
  readonly gone: readonly string[];
  readonly missing: Readonly<Record<string, number>>;
  readonly notText: Readonly<Record<string, number>>;
}

export function summaryOf(report: RunReport): string {
  const { pipeline, collection, read, pages, resumed, since, rejects } = report;
  const seconds = (Date.parse(report.finishedAt) - Date.parse(report.startedAt)) / 1000;
  const perSecond = seconds > 0 ? ` (${amount(Math.round(read / seconds))} rows/s)` : '';
  const lines = [
    `${pipeline}: read ${amount(read)} ${collection} in ${amountOf(pages, 'page')}, ${seconds.toFixed(1)} s${perSecond}`,
    resumed > 0 &&
      `  resumed: ${amountOf(resumed, 'page')} ${resumed === 1 ? 'was' : 'were'} spooled by an interrupted run, since ${since}`,
    consistencyLine(report),
    ...report.gates.map(shrunkLine),
    ...report.steps.map(stepLine),
    ...report.lookups.map(lookupLine),
    ...report.sinks.flatMap(sinkLines),
    ...[report, ...report.sides, ...report.lookups].flatMap(findingLines),
    rejects.rows > 0 && `  rejected ${amountOf(rejects.rows, 'row')}${rejects.path === undefined ? '' : `, see ${rejects.path}`}`,
  ];
  return said(lines).map(printable).join('\n');
}

function said(lines: readonly (string | false)[]): readonly string[] {
  return lines.filter((line) => line !== false);
}

function shrunkLine({ gate, at, rows, rowsBefore }: GateResult): string | false {
  if (gate !== 'max_read_shrink' || rows === undefined || rowsBefore === undefined || rows > 0.9 * rowsBefore) return false;
  return `  ${at}: ${amountOf(rows, 'row')} in the list, and ${amount(rowsBefore)} before`;
}

function consistencyLine({ consistency, scope }: RunReport): string | false {
  const { outcome, probes, passes, repaired, duplicates, changed, counted, waitedMs, growing, unordered } = consistency;
  const parts = [
    scope !== undefined && scope,
    outcome,
    probes > 0 && `${amountOf(probes, 'page')} read again`,
    passes > 0 && amountOf(passes, 'pass', 'passes'),
    repaired > 0 && `${amountOf(repaired, 'row')} repaired`,
    duplicates > 0 && amountOf(duplicates, 'duplicate'),
    changed > 0 && `${amount(changed)} changed`,
    counted === 'none' && 'its rows cannot be counted',
    // Only noticeable waits are reported.
    waitedMs >= 1000 && `${amount(waitedMs / 1000)} s spent waiting for more at the end (end_wait)`,
    growing && 'growing while it was read',
    unordered && 'in a different order each time',
  ];
  return outcome !== 'off' && `  consistency: ${said(parts).join(', ')}`;
}

function stepLine({ at, tally }: StepReport): string | false {
  const parts = counted(tally).map(([word, rows]) => `${word} ${amount(rows)}`);
  return parts.length > 0 && `  ${at}: ${parts.join(', ')}`;
}

function lookupLine({ at, collection, requests, hits, misses }: RunReport['lookups'][number]): string {
  const counts = `${amountOf(requests, 'request')} for single records, ${amount(misses)} found none; ${amountOf(hits, 'row')} needed no request`;
  return `  ${at}: ${collection} by id, not checked for changes: ${counts}`;
}

function sinkLines({ at, path, bytes, total, changed, merged, nulled, books }: SinkReport): readonly (string | false)[] {
  const more = (names: readonly (keyof typeof books)[]) =>
    names.flatMap((name) => (books[name] > 0 ? [` + ${amount(books[name])} ${wordOf(name)}`] : [])).join('');
  const came = `${amount(books.read)} read${more(origins.slice(1))}`;
  const went = `${amount(books.written)} written${more(outcomes.slice(1))}`;
  const differing = changed > 0 ? ` (${amount(changed)} of them with changed content)` : '';
  const kinds = mergeWords.flatMap((kind) => (merged?.[kind] === undefined ? [] : `${kind} ${amount(merged[kind])}`)).join(', ');
  const emptied = nulled > 0 ? `, ${amountOf(nulled, 'value')} null` : '';
  return [
    `  ${at}: ${came} = ${went}${differing}${emptied}, ${amountOf(bytes, 'byte')}${path === undefined ? '' : ` -> ${path}`}`,
    merged !== undefined && `  ${at}: merged into ${amountOf(merged.before, 'row')}: ${kinds}; it has ${amount(total)} now`,
  ];
}

function findingLines({ collection, findings }: Pick<RunReport, 'collection' | 'findings'>): readonly string[] {
  const { unknown, late, missing, notText } = findings;
  const lineOf = (title: string, counts: Readonly<Record<string, number>>) => {
    const parts = Object.entries(counts).map(([name, rows]) => `${name} (${amountOf(rows, 'row')})`);
    return parts.length > 0 && `  ${collection}: ${title}: ${parts.join(', ')}`;
  };
  return said([
    lineOf('unknown fields', unknown),
    late.length > 0 && `  first seen after page 1, so not in the outputs of this run: ${late.join(', ')}`,
    lineOf('missing fields', missing),
    lineOf('values that were not strings', notText),
  ]);
}

/** The report of a run that published nothing. Its sinks are those that were closed. */
export interface FailedRunReport extends RunReport {
  /** Pages that the pipeline's next run need not request again. */
  readonly keptPages: number;
}

const reports = new WeakMap<object, FailedRunReport>();

export function noteFailed(thrown: unknown, report: FailedRunReport): void {
  if (typeof thrown === 'object' && thrown !== null) reports.set(thrown, report);
}

/**
 * Returns the report of the run that failed with an error; `undefined` if it did not start.
 *
 * @param error The rejection of `runPipeline`.
 *
 * @example
 * await runPipeline(pipeline).catch((error) => console.error(`${failedRunOf(error)?.read ?? 0} rows were read, none published`));
 */
export function failedRunOf(error: unknown): FailedRunReport | undefined {
  return typeof error === 'object' && error !== null ? reports.get(error) : undefined;
}
