import { itemAt, textOf, type OutputColumn } from '../../core/index.js';
import type { TextFormat } from '../text-sink.js';

/** Maximum widths of a table, in terminal cells. */
export interface TableWidths {
  /** Width of the widest column. */
  readonly column: number;
  /** Width of the whole table. Default: no limit. */
  readonly table?: number | undefined;
}

/**
 * Formats rows as a plain table for people. Widths are determined by the header and the first page. Wider values on later pages are cut with `…`, and control
 * characters become spaces, so that no value can control a terminal.
 *
 * A table that would be too wide gets narrower columns. If these would be too narrow to read, each record is printed vertically, one line per column.
 */
export function tableFormat(columns: readonly OutputColumn[], allowed: TableWidths): TextFormat {
  const header = columns.map(({ name }) => printable(name));
  let layout: Layout | undefined;

  function fixed(rows: readonly (readonly string[])[]): Layout {
    const natural = header.map((name, index) =>
      Math.min(allowed.column, Math.max(width(name), ...rows.map((row) => width(itemAt(row, index))))),
    );
    const widths = fitted(natural, allowed.table);
    return widths ? horizontal(header, widths) : vertical(header, allowed.table ?? Infinity);
  }

  return {
    head: () => '',
    rows: (batch) => {
      const cells = Array.from({ length: batch.rows }, (_, row) =>
        columns.map(({ type }, index) => printable(textOf(batch.column(index).value(row), type) ?? '')),
      );
      const head = layout === undefined ? (layout = fixed(cells)).head : '';
      return head + cells.map(layout.record).join('');
    },
    tail: () => (layout === undefined ? fixed([]).head : ''),
  };
}

/** How records are laid out on lines. */
interface Layout {
  readonly head: string;
  record(cells: readonly string[]): string;
}

const gap = 2;
/** Columns narrower than this would be unreadable. */
const narrowest = 12;

/** Returns the widths of columns that fit into a table, cutting the widest ones; `undefined` if they would be too narrow. */
export function fitted(widths: readonly number[], room = Infinity): readonly number[] | undefined {
  const free = room - gap * (widths.length - 1);
  const total = (most: number) => widths.reduce((sum, each) => sum + Math.min(each, most), 0);
  let most = Math.max(...widths, 0);
  while (most > narrowest && total(most) > free) most -= 1;
  return total(most) > free ? undefined : widths.map((each) => Math.min(each, most));
}

function horizontal(header: readonly string[], widths: readonly number[]): Layout {
  const line = (cells: readonly string[]) =>
    `${cells
      .map((cell, index) => cut(cell, itemAt(widths, index)))
      .join(' '.repeat(gap))
      .trimEnd()}\n`;
  return { head: line(header) + line(widths.map((count) => '-'.repeat(count))), record: line };
}

function vertical(header: readonly string[], room: number): Layout {
  const names = Math.min(Math.max(...header.map(width), 0), Math.max(narrowest, Math.floor(room / 2)));
  const rule = Number.isFinite(room) ? room : 40;
  let records = 0;
  return {
    head: '',
    record: (cells) => {
      records += 1;
      const title = `-[ ${records} ]`;
      const lines = cells.map((cell, index) =>
        `${cut(itemAt(header, index), names)}${' '.repeat(gap)}${cut(cell, Math.max(1, room - names - gap))}`.trimEnd(),
      );
      return `${[title.padEnd(rule, '-'), ...lines].join('\n')}\n`;
    },
  };
}

/** Pads or cuts a text to a number of terminal cells; a cut ends with `…`. */
function cut(text: string, room: number): string {
  if (room === Infinity) return text;
  const spare = room - width(text);
  if (spare >= 0) return text + ' '.repeat(spare);
  let start = '';
  for (const character of text) {
    if (width(start + character) >= room) break;
    start += character;
  }
  return `${start}…${' '.repeat(room - width(start) - 1)}`;
}

/** Removes everything from a text that could control a terminal. */
function printable(text: string): string {
  if (simple.test(text)) return text;
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ').replaceAll(/[\p{Cf}\p{Mn}\p{Me}]/gu, '');
}

/** Matches texts with one terminal cell per character. */
const simple = /^[ -~]*$/;
const wide = /[\p{Extended_Pictographic}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/u;

/** Returns the number of terminal cells that a text occupies: two for pictures and East Asian characters. */
function width(text: string): number {
  if (simple.test(text)) return text.length;
  return Array.from(text).reduce((sum, character) => sum + (wide.test(character) ? 2 : 1), 0);
}
