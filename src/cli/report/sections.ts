import { amount, amountOf, counted, origins, outcomes, wordOf } from '../../core/index.js';
import { lengthOf, sizeOf } from '../status/line.js';
import type { PipelineDocument } from './document.js';

/** A section of a report for people: a table. */
export interface Section {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Returns the sections of a pipeline's report for people. Leaves out those about which nothing is known. */
export function sectionsOf(document: PipelineDocument): readonly Section[] {
  const all = [facts, gates, files, books, steps, lists, requests, slowest, stages, columns, warnings].map((section) => section(document));
  return all.filter(({ rows }) => rows.length > 0);
}

/** Describes in one line how a run ended. */
export function headlineOf({ status, exit, error }: PipelineDocument): string {
  const how = { published: 'Published', failed: 'Failed', closed: 'Closed by its reader', not_run: 'Not run' }[status];
  return error && status === 'failed' ? `${how}: ${error.code} (exit ${exit ?? 1})` : how;
}

function facts(document: PipelineDocument): Section {
  const { service, runId, startedAt, finishedAt, durationMs, read, pages, collection, resumed, keptPages, error, kept, file, partial } =
    document;
  const known: readonly (readonly [string, string | undefined])[] = [
    ['file', file],
    ['error', error?.message.split('\n').join('; ')],
    ['what to do', error?.help],
    ['kept for inspection', kept?.join(', ')],
    ['run', runId],
    ['service', service?.baseUrl],
    ['started', startedAt],
    ['finished', finishedAt],
    ['duration', durationMs === undefined ? undefined : durationOf(durationMs)],
    [
      'read',
      read === undefined
        ? undefined
        : `${amount(read)} ${collection} in ${amountOf(pages ?? 0, 'page')}${partial ? ', part of the list' : ''}`,
    ],
    ['pages of an interrupted run', resumed ? amount(resumed) : undefined],
    ['pages kept for the next run', keptPages ? amount(keptPages) : undefined],
    ['leadstream', document.version],
  ];
  return { title: 'Run', head: ['', ''], rows: known.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])) };
}

/** Formats a duration as the summary does, with minutes from one minute on. */
function durationOf(ms: number): string {
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : lengthOf(ms / 1000);
}

function gates({ gates: found = [] }: PipelineDocument): Section {
  const rows = found.map(({ gate, at, outcome, violations }) => [
    gate,
    at ?? '',
    outcome,
    violations.map(({ message }) => message).join('; '),
  ]);
  return { title: 'Gates', head: ['gate', 'of', 'result', 'why'], rows };
}

function files({ sinks = [], status }: PipelineDocument): Section {
  const rows = sinks.map(({ at, path, total, bytes }) => [
    at,
    path === undefined ? 'stdout' : status === 'published' ? path : `${path} (not published)`,
    amount(total),
    sizeOf(bytes),
  ]);
  return { title: 'Files', head: ['sink', 'file', 'rows', 'size'], rows };
}

function books({ sinks = [] }: PipelineDocument): Section {
  const used = [...origins, ...outcomes].filter(
    (count) => count === 'read' || count === 'written' || sinks.some((sink) => sink.books[count] > 0),
  );
  const rows = sinks.map((sink) => [sink.at, ...used.map((count) => amount(sink.books[count]))]);
  return { title: 'Books', head: ['sink', ...used.map(wordOf)], rows };
}

function steps({ steps: all = [], joins = [] }: PipelineDocument): Section {
  const rows = all.map(({ at, tally, busyMs }) => {
    const parts = counted(tally).map(([word, rows]) => `${word} ${amount(rows)}`);
    const join = joins.find((one) => one.at === at);
    return [at, parts.join(', '), join ? share(join.matched, join.matched + join.missed) : '', `${amount(busyMs)} ms`];
  });
  return { title: 'Steps', head: ['step', 'rows', 'match rate', 'busy (main thread)'], rows };
}

function lists({ collection, read, consistency, sides = [], lookups = [] }: PipelineDocument): Section {
  const source =
    collection === undefined || consistency === undefined ? [] : [[collection, 'source', amount(read ?? 0), checkOf(consistency)]];
  return {
    title: 'Collections',
    head: ['collection', 'read by', 'rows', 'consistency'],
    rows: [
      ...source,
      ...sides.map((side) => [side.collection, side.at, amount(side.rows), checkOf(side.consistency)]),
      ...lookups.map(({ collection: name, at, requests: asked }) => [name, at, `${amount(asked)} single records`, 'not checked']),
    ],
  };
}

/** Returns the result of checking a list. A check that was due did not happen if a limit or a failure ended the read. */
function checkOf({ mode, outcome }: NonNullable<PipelineDocument['consistency']>): string {
  return outcome === 'off' && mode !== 'off' ? 'not checked' : outcome;
}

function requests({ requests: made }: PipelineDocument): Section {
  if (!made) return { title: 'Requests', head: [], rows: [] };
  const { total, probes, bytes, retries, latency } = made;
  const rows = [
    ['requests', `${amount(total)}, including ${amount(probes)} that only checked`],
    ['bytes', sizeOf(bytes)],
    ...(latency ? [['latency', `median ${latency.median} ms, 95% within ${latency.p95} ms, longest ${latency.max} ms`]] : []),
    ...retries.map(({ code, status, count }) => [`retries after ${code}${status === undefined ? '' : ` (HTTP ${status})`}`, amount(count)]),
  ];
  return { title: 'Requests', head: ['', ''], rows };
}

function slowest({ requests: made }: PipelineDocument): Section {
  const rows = (made?.slowest ?? []).map(({ url, attempt, status, ms }) => [
    url,
    String(attempt),
    String(status ?? 'none'),
    `${amount(ms)} ms`,
  ]);
  return { title: 'Slowest requests', head: ['request', 'attempt', 'status', 'took'], rows };
}

function stages({ stages: all = [] }: PipelineDocument): Section {
  return {
    title: 'Stages',
    head: ['stage', 'began after', 'took'],
    rows: all.map(({ stage, startMs, ms }) => [stage, `${(startMs / 1000).toFixed(1)} s`, `${(ms / 1000).toFixed(1)} s`]),
  };
}

function columns({ profile }: PipelineDocument): Section {
  const rows = (profile?.columns ?? []).map(({ name, type, sensitivity, empty, distinct, uncounted, top }) => [
    name,
    type,
    share(empty, profile?.rows ?? 0),
    distinct === undefined ? (uncounted === undefined ? sensitivity : notCounted[uncounted]) : amount(distinct),
    (top ?? []).map(({ value, rows: count }) => `${value} (${amount(count)})`).join(', '),
  ]);
  return { title: 'Columns', head: ['column', 'type', 'empty', 'different', 'most frequent'], rows };
}

/** Why the distinct values of a column were not counted. */
const notCounted = { many: 'more than 1,000', long: 'not counted: long texts' } as const;

/** Formats a share. A part is never 100%, and something is never 0%. */
function share(part: number, of: number): string {
  if (of === 0) return '';
  const percent = (100 * part) / of;
  if (part > 0 && percent < 0.01) return '< 0.01%';
  if (part < of && percent > 99.99) return '> 99.99%';
  return `${Number(percent.toFixed(2))}%`;
}

function warnings({ warnings: said = [] }: PipelineDocument): Section {
  return { title: 'Warnings', head: ['code', 'message'], rows: said.map(({ code, message }) => [code, message]) };
}
