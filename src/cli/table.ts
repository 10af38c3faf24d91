import { printable } from '../core/index.js';

/** Formats rows of text below their titles, each column as wide as its widest cell. */
export function tableOf(titles: readonly string[], texts: readonly (readonly string[])[]): string {
  const rows = texts.map((row) => row.map(printable));
  const widths = titles.map((title, index) => Math.max(title.length, ...rows.map((row) => row[index]?.length ?? 0)));
  const lineOf = (cells: readonly string[]) =>
    cells
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd();
  return [titles, ...rows].map((cells) => `${lineOf(cells)}\n`).join('');
}
