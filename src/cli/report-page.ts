import { amount, amountOf, counted, origins, outcomes, printable } from '../core/index.js';
import type { PipelineDocument, ReportDocument } from './report-document.js';

/** Renders a report as a self-contained page for people: no script, nothing from the network, and a policy that forbids both. */
export function reportPage(document: ReportDocument): string {
  const pipelines = 'pipelines' in document ? document.pipelines : [document];
  return `<!doctype html>
<!-- leadstream report -->
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>${escaped(pipelines.map(nameOf).join(', '))} – leadstream</title>
<style>${style}</style>
</head>
<body>
${pipelines.map(partOf).join('\n')}
</body>
</html>
`;
}

function nameOf({ pipeline, file }: PipelineDocument): string {
  return pipeline ?? file ?? 'Pipeline file';
}

function partOf(document: PipelineDocument): string {
  const { status, pipeline: _pipeline, error, ...rest } = document;
  const { exit = 1, collection, read = 0, pages = 0, partial = false, startedAt = '', finishedAt = '' } = rest;
  const how = { published: 'Published', failed: 'Failed', closed: 'Closed by its reader', not_run: 'Not run' }[status];
  const seconds = ((Date.parse(finishedAt) - Date.parse(startedAt)) / 1000).toFixed(1);
  const what = `${amount(read)} ${collection} in ${amountOf(pages, 'page')}${partial ? ', part of the list' : ''}, in ${seconds} s`;
  const isNested = ([, value]: readonly [string, unknown]) => typeof value === 'object' && value !== null;
  const nested = Object.entries(rest).filter(isNested);
  const bars = flowOf(document);
  const parts = [
    table('Run', Object.entries({ ...error, ...Object.fromEntries(Object.entries(rest).filter((entry) => !isNested(entry))) })),
    part('Rows', bars.length === 0 ? '' : flowPicture(bars)),
    ...nested.map(([name, value]) => tableOf(name === 'sinks' && status !== 'published' ? 'outputs, not published' : name, value)),
  ];
  return `<main>
<h1>${escaped(nameOf(document))}</h1>
<p class="${status === 'published' ? 'published' : 'failed'}">${escaped(error && status === 'failed' ? `${how}: ${error.code} (exit ${exit})` : how)}</p>
${collection === undefined ? '' : `<p>${escaped(what)}</p>`}
${parts.filter((text) => text !== '').join('\n')}
</main>`;
}

function part(title: string, content: string): string {
  return content === '' ? '' : `<section><h2>${escaped(title)}</h2><div class="part">${content}</div></section>`;
}

function tableOf(name: string, value: unknown): string {
  const title = wordsOf(`${name.charAt(0).toUpperCase()}${name.slice(1)}`);
  if (!Array.isArray(value)) return table(title, Object.entries(value ?? {}));
  const records = value.map(
    (item: unknown) => (typeof item === 'object' ? { ...item } : { value: item }) as Readonly<Record<string, unknown>>,
  );
  const names = [...new Set(records.flatMap(Object.keys))].filter((each) => records.some((record) => textOf(record[each]) !== ''));
  return table(
    title,
    records.map((record) => names.map((each) => record[each])),
    names,
  );
}

function table(title: string, rows: readonly (readonly unknown[])[], names?: readonly string[]): string {
  const filled = names ? rows : rows.flatMap(([name, value]) => (textOf(value) === '' ? [] : [[wordsOf(String(name)), value]]));
  const head = names ? `<tr>${names.map((name) => `<th>${escaped(wordsOf(name))}</th>`).join('')}</tr>\n` : '';
  const lines = filled.map((row) => {
    const wrong = ['refused', 'overridden'].find((outcome) => row.includes(outcome));
    return `<tr${wrong === undefined ? '' : ` class="${wrong}"`}>${row.map((cell) => `<td>${escaped(textOf(cell))}</td>`).join('')}</tr>`;
  });
  return part(title, lines.length === 0 ? '' : `<table>${head}${lines.join('\n')}</table>`);
}

/** Formats a value for people; of a record or list, only what is not empty or 0. */
function textOf(value: unknown): string {
  if (typeof value === 'number') return amount(value);
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 'yes' : '';
  if (typeof value !== 'object' || value === null) return '';
  if (Array.isArray(value)) return value.map(textOf).join('; ');
  const members = Object.entries(value).filter(([, member]) => member !== 0 && textOf(member) !== '');
  return members.map(([name, member]) => `${wordsOf(name)} ${textOf(member)}`).join(', ');
}

function wordsOf(name: string): string {
  return name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

type Bar = readonly [kind: 'way' | 'lost' | 'added', label: string, rows: number];

/** The flow of rows to the first sink. Steps that do not change their number are left out. */
function flowOf({ collection, read = 0, consistency, steps = [], sinks: [sink] = [], status }: PipelineDocument): readonly Bar[] {
  if (collection === undefined || read === 0) return [];
  const changes: readonly Bar[] = [
    ['added', 'whole list: repaired', consistency?.repaired ?? 0],
    ['lost', 'whole list: read twice', consistency?.duplicates ?? 0],
    ...steps.flatMap(({ at, tally }) => [
      ...counted(tally, origins).map(([word, rows]): Bar => ['added', `${at}: ${word}`, rows]),
      ...counted(tally, outcomes).map(([word, rows]): Bar => ['lost', `${at}: ${word}`, rows]),
    ]),
  ];
  const bars: readonly Bar[] = [['way', collection, read], ...changes.filter(([, , rows]) => rows > 0)];
  const left = changes.reduce((sum, [kind, , rows]) => (kind === 'added' ? sum + rows : sum - rows), read);
  if (!sink) return [...bars, ['way', 'in progress, not published', left]];
  const { unchanged, rejected, written } = sink.books;
  const atSink = { rejected: rejected - steps.reduce((sum, { tally }) => sum + tally.rejected, 0), unchanged };
  return [
    ...bars,
    ...counted(atSink).map(([word, rows]): Bar => ['lost', `${sink.at}: ${word}`, rows]),
    ['way', `${sink.at}: ${status === 'published' ? 'written' : 'prepared, not published'}`, written],
  ];
}

/** Draws what is lost or added next to the rows that go on. */
function flowPicture(bars: readonly Bar[]): string {
  let left = 0;
  const placed = bars.map(([kind, label, rows]) => {
    const from = { way: 0, lost: Math.max(0, left - rows), added: left }[kind];
    left = kind === 'lost' ? from : from + rows;
    return { kind, label, rows, from };
  });
  const most = Math.max(...placed.map(({ rows, from }) => rows + from));
  const lines = placed.map(({ kind, label, rows, from }) => {
    const [x, width] = [(100 * from) / most, Math.max(0.2, (100 * rows) / most)].map((part) => part.toFixed(2));
    const sign = { way: '', lost: '−', added: '+' }[kind];
    const bar = `<svg viewBox="0 0 100 1" preserveAspectRatio="none"><rect class="${kind}" x="${x}" width="${width}" height="1"/></svg>`;
    return `<tr><td>${escaped(label)}</td><td class="number">${sign}${amount(rows)}</td><td class="bar">${bar}</td></tr>`;
  });
  return `<table class="flow">${lines.join('\n')}</table>`;
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escaped(text: string): string {
  return printable(text).replaceAll(/[&<>"']/g, (character) => entities[character] ?? '');
}

const style = `
:root { color-scheme: light dark; --back: #fff; --text: #1d2329; --faint: #d5dae0; --way: #2f6fb4; --lost: #b4552f; --added: #3c8a4f; }
@media (prefers-color-scheme: dark) { :root { --back: #14181c; --text: #e2e6ea; --faint: #39424b; --way: #6ea8e6; --lost: #e39470; --added: #7cc78d; } }
body { margin: 0 auto; max-width: 900px; padding: 1rem; background: var(--back); color: var(--text); font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: 1rem 0 0; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 1.6rem 0 0.4rem; }
.published { color: var(--added); font-weight: 600; }
.failed { color: var(--lost); font-weight: 600; }
.part { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.7rem 0.25rem 0; border-bottom: 1px solid var(--faint); }
td { overflow-wrap: anywhere; min-width: 5.5rem; }
.refused td, .overridden td { color: var(--lost); }
.number { text-align: right; white-space: nowrap; }
.bar { width: 55%; }
.bar svg { display: block; width: 100%; height: 1.2rem; }
.way { fill: var(--way); }
.lost { fill: var(--lost); }
.added { fill: var(--added); }
`;
