import { printable } from '../../core/index.js';
import { pipelinesOf, type ReportDocument } from './document.js';
import { headlineOf, sectionsOf, type Section } from './sections.js';

/** How a Markdown report begins. */
export const markdownMark = '<!-- leadstream report -->';

/** Formats a report as Markdown. No text in it can end a cell, begin a line or be taken for markup. */
export function markdownOf(document: ReportDocument): string {
  const parts = pipelinesOf(document).flatMap((one) => [
    `# ${escaped(one.pipeline ?? one.file ?? 'Pipeline file')}`,
    `**${escaped(headlineOf(one))}**`,
    ...sectionsOf(one).flatMap((section) => [`## ${section.title}`, tableOf(section)]),
  ]);
  return `${[markdownMark, ...parts].join('\n\n')}\n`;
}

function tableOf({ head, rows }: Section): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(escaped).join(' | ')} |`).join('\n');
}

function escaped(text: string): string {
  if (text === '---') return text;
  const marked = printable(text).replaceAll(/[\\`*_[\]|#~$]/g, '\\$&');
  return marked.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
