import { printable } from '../../../core/index.js';
import { pipelinesOf, type PipelineDocument, type ReportDocument } from '../document.js';
import { headlineOf, sectionsOf, type Section } from '../sections.js';
import type * as Charts from './charts.js';
import { flowOf, type Flow } from './flow.js';
import { style } from './style.js';

/**
 * Renders a report as a self-contained page: no script, nothing from the network, and a policy that forbids both. Pictures are SVG in two sizes, and the page
 * shows the one that fits.
 */
export async function pageOf(document: ReportDocument): Promise<string> {
  const charts = await import('./charts.js');
  const pipelines = pipelinesOf(document);
  const title = pipelines.map(({ pipeline, file }) => pipeline ?? file ?? 'pipeline file').join(', ');
  return `<!doctype html>
<!-- leadstream report -->
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>${escaped(title)} – leadstream</title>
<style>${style}</style>
</head>
<body>
${pipelines.map((one) => partOf(one, charts)).join('\n')}
</body>
</html>
`;
}

function partOf(document: PipelineDocument, charts: typeof Charts): string {
  const flow = flowOf(document);
  const { timeline } = document;
  const hasTime = timeline !== undefined && timeline.intervals.length > 0;
  const pictures: readonly (readonly [string, (size: Charts.Size) => string, Charts.Size, Charts.Size])[] = [
    ...(flow ? [['Rows', (size: Charts.Size) => charts.flowChart(flow, size), wideFlow, narrowFlow(flow)] as const] : []),
    ...(hasTime ? [['Throughput', (size: Charts.Size) => charts.throughputChart(timeline, size), wide, narrow] as const] : []),
    ...(hasTime ? [['Latency of requests', (size: Charts.Size) => charts.latencyChart(timeline, size), wide, narrow] as const] : []),
  ];
  const drawn = pictures.map(
    ([title, draw, large, small]) =>
      `<section><h2>${title}</h2><div class="wide">${draw(large)}</div><div class="narrow">${draw(small)}</div></section>`,
  );
  const [first, ...others] = sectionsOf(document).map(sectionOf);
  return `<main>
<h1>${escaped(document.pipeline ?? document.file ?? 'Pipeline file')}</h1>
<p class="${document.status === 'published' ? 'published' : 'failed'}">${escaped(headlineOf(document))}</p>
${[first, ...drawn, ...others].join('\n')}
</main>`;
}

const [wide, narrow] = [
  { width: 860, height: 220 },
  { width: 350, height: 200 },
];

const wideFlow = { width: 860, height: 280 };

/** Returns the size of a flow from top to bottom, where each step needs its space. */
function narrowFlow({ nodes }: Flow): Charts.Size {
  return { width: 350, height: 120 + 75 * nodes.filter(({ kind }) => kind === 'way').length };
}

function sectionOf({ title, head, rows }: Section): string {
  const isHeaded = head.some((text) => text !== '');
  const first = isHeaded ? `<tr>${head.map((text) => `<th>${escaped(text)}</th>`).join('')}</tr>` : '';
  // On a phone, each row is a separate block, with the column heads next to its cells.
  const cell = (text: string, column: number) =>
    `<td${isHeaded ? ` data-head="${escaped(head[column] ?? '')}"` : ''}${unbroken.test(text) ? ' class="long"' : ''}>${escaped(text)}</td>`;
  const body = rows.map((row) => `<tr${classOf(row)}>${row.map(cell).join('')}</tr>`).join('\n');
  return `<section><h2>${title}</h2><div class="table"><table${isHeaded ? '' : ' class="facts"'}>${first}\n${body}</table></div></section>`;
}

/** Matches text that is too long for a column, like paths and ids. */
const unbroken = /\S{24}/;

function classOf(row: readonly string[]): string {
  const told = ['refused', 'overridden'].find((outcome) => row.includes(outcome));
  return told === undefined ? '' : ` class="${told}"`;
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function escaped(text: string): string {
  return printable(text).replaceAll(/[&<>"']/g, (character) => entities[character] ?? '');
}
