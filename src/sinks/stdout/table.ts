import { itemAt, textOf, type OutputColumn } from '../../core/index.js';
import type { TextFormat } from '../text-sink.js';

/**
 * A plain table for people. Widths come from the header and the first page; what is wider later is cut with `…`, and
 * control characters become spaces, so that no value can steer a terminal.
 *
 * @param maxWidth Widest column, in terminal cells.
 */
export function tableFormat(columns: readonly OutputColumn[], maxWidth: number): TextFormat {
  const header = columns.map(({ name }) => printable(name));
  let widths: readonly number[] | undefined;

  function fix(rows: readonly (readonly string[])[]): string {
    widths = header.map((name, index) => Math.min(maxWidth, Math.max(width(name), ...rows.map((row) => width(row[index] ?? '')))));
    return (
      line(header, widths) +
      line(
        widths.map((count) => '-'.repeat(count)),
        widths,
      )
    );
  }

  return {
    head: () => '',
    rows: (batch) => {
      const cells = Array.from({ length: batch.rows }, (_, row) =>
        columns.map(({ type }, index) => printable(textOf(batch.column(index).value(row), type) ?? '')),
      );
      const head = widths === undefined ? fix(cells) : '';
      return head + cells.map((row) => line(row, widths ?? [])).join('');
    },
    tail: () => (widths === undefined ? fix([]) : ''),
  };
}

function line(cells: readonly string[], widths: readonly number[]): string {
  return `${cells
    .map((cell, index) => fit(cell, itemAt(widths, index)))
    .join('  ')
    .trimEnd()}\n`;
}

function fit(text: string, room: number): string {
  const spare = room - width(text);
  if (spare >= 0) return text + ' '.repeat(spare);
  let cut = '';
  for (const character of text) {
    if (width(cut + character) >= room) break;
    cut += character;
  }
  return `${cut}…${' '.repeat(room - width(cut) - 1)}`;
}

function printable(text: string): string {
  if (simple.test(text)) return text;
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ').replaceAll(/[\p{Cf}\p{Mn}\p{Me}]/gu, '');
}

/** One cell of a terminal per character. */
const simple = /^[ -~]*$/;
const wide = /[\p{Extended_Pictographic}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/u;

/** Terminal cells that a text takes: two for pictures and East Asian characters. */
function width(text: string): number {
  if (simple.test(text)) return text.length;
  return Array.from(text).reduce((sum, character) => sum + (wide.test(character) ? 2 : 1), 0);
}
