import { amount, counted, origins, outcomes, printable } from '../../core/index.js';
import type { PipelineDocument } from './document.js';

/** A bar of the flow: rows on the way, rows that left it, or rows that were added. */
export interface Bar {
  readonly label: string;
  readonly kind: 'way' | 'lost' | 'added';
  readonly rows: number;
  /** Where the bar begins, in rows: next to those that go on. */
  readonly from: number;
}

/** Returns the flow of rows from the source to the first sink; the table of row counts has the others. Leaves out steps that do not change the number of rows. */
export function flowOf({ collection, read = 0, consistency, steps = [], sinks: [sink] = [], status }: PipelineDocument): readonly Bar[] {
  if (collection === undefined || read === 0) return [];
  const bars: Bar[] = [{ label: collection, kind: 'way', rows: read, from: 0 }];
  let left = read;
  const pass = (kind: 'lost' | 'added', at: string, parts: readonly (readonly [word: string, rows: number])[]) => {
    for (const [word, rows] of parts.filter(([, count]) => count > 0)) {
      const from = kind === 'added' ? left : Math.max(0, left - rows);
      bars.push({ label: `${at}: ${word}`, kind, rows, from });
      left = kind === 'added' ? left + rows : from;
    }
  };
  pass('added', 'whole list', [['repaired', consistency?.repaired ?? 0]]);
  pass('lost', 'whole list', [['read twice', consistency?.duplicates ?? 0]]);
  for (const { at, tally } of steps) {
    pass('added', at, counted(tally, origins));
    pass('lost', at, counted(tally, outcomes));
  }
  if (!sink) return [...bars, { label: 'in progress, not published', kind: 'way', rows: left, from: 0 }];
  const { unchanged, rejected, written } = sink.books;
  const before = steps.reduce((sum, { tally }) => sum + tally.rejected, 0);
  pass('lost', sink.at, [
    ['rejected', rejected - before],
    ['unchanged', unchanged],
  ]);
  const label = `${sink.at}: ${status === 'published' ? 'written' : 'prepared, not published'}`;
  return [...bars, { label, kind: 'way', rows: written, from: 0 }];
}

/** Draws the flow as bars below one another. They take their space and colours from the page. */
export function flowPicture(bars: readonly Bar[]): string {
  const most = Math.max(...bars.map(({ rows, from }) => rows + from));
  const rows = bars.map(({ label, kind, rows, from }) => {
    const [x, width] = [(100 * from) / most, Math.max(0.2, (100 * rows) / most)].map((part) => part.toFixed(2));
    const sign = { way: '', lost: '−', added: '+' }[kind];
    const bar = `<svg viewBox="0 0 100 1" preserveAspectRatio="none"><rect class="${kind}" x="${x}" width="${width}" height="1"/></svg>`;
    return `<tr><td>${escaped(label)}</td><td class="number">${sign}${amount(rows)}</td><td class="bar">${bar}</td></tr>`;
  });
  return `<table class="flow">${rows.join('\n')}</table>`;
}

/** Draws the rows of the source over time: where the line is level, the run waited. */
export function progressPicture(progress: NonNullable<PipelineDocument['progress']>): string {
  const [[lastMs, rows] = [0, 0]] = progress.slice(-1);
  if (lastMs === 0 || rows === 0) return '';
  const points = progress.map(([ms, read]) => `${((600 * ms) / lastMs).toFixed(1)},${(150 - (150 * read) / rows).toFixed(1)}`);
  const line = `<polyline points="0,150 ${points.join(' ')}" vector-effect="non-scaling-stroke"/>`;
  const caption = `${amount(rows)} rows in ${(lastMs / 1000).toFixed(1)} s`;
  return `<figure><svg class="progress" viewBox="0 0 600 150" preserveAspectRatio="none">${line}</svg><figcaption>${caption}</figcaption></figure>`;
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Escapes a text for a page. */
export function escaped(text: string): string {
  return printable(text).replaceAll(/[&<>"']/g, (character) => entities[character] ?? '');
}
