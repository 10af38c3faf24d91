import type { Difference, RowDifference } from '../index.js';
import { printable } from '../core/index.js';

/** Most differing rows that are shown. */
const most = 10;

/** Describes a difference between a run and its test for people, in lines. */
export function linesOf({ at, expected, received, rows }: Difference): readonly string[] {
  if (at === 'setup') return [`the test cannot run: ${printable(String(received))}`];
  if (rows !== undefined) {
    const more = rows.length > most ? [`  and ${rows.length - most} more`] : [];
    return [`${at}: expected ${String(expected)}, received ${String(received)}`, ...rows.slice(0, most).flatMap(rowLines), ...more];
  }
  if (typeof expected === 'string' && typeof received === 'string' && `${expected}${received}`.includes('\n'))
    return [`${at}: the text differs`, ...textLines(expected, received)];
  return [`${at}: expected ${shown(expected)}, received ${shown(received)}`];
}

function rowLines(difference: RowDifference): readonly string[] {
  if (difference.kind === 'missing') return [`  row ${difference.row} is missing: ${recordText(difference.expected)}`];
  if (difference.kind === 'unexpected') return [`  row ${difference.row} was not expected: ${recordText(filled(difference.received))}`];
  return Object.entries(difference.columns).map(
    ([name, { expected, received }]) => `  row ${difference.row}, ${name}: expected ${value(expected)}, received ${value(received)}`,
  );
}

/** Describes the first line that differs. */
function textLines(expected: string, received: string): readonly string[] {
  const [wanted, came] = [expected.split('\n'), received.split('\n')];
  const line = wanted.findIndex((text, index) => text !== came[index]);
  const at = line < 0 ? wanted.length : line;
  return [`  line ${at + 1}: expected ${value(wanted[at])}, received ${value(came[at])}`];
}

/** Drops the null columns of a row: most are null where a test gives only a few fields. */
function filled(row: Readonly<Record<string, string | null>>): Readonly<Record<string, string | null>> {
  return Object.fromEntries(Object.entries(row).filter(([, each]) => each !== null));
}

function recordText(row: Readonly<Record<string, string | null>>): string {
  const text = Object.entries(row)
    .map(([name, each]) => `${name}: ${value(each)}`)
    .join(', ');
  return `{ ${text.length > 200 ? `${text.slice(0, 200)}…` : text} }`;
}

function value(given: string | null | undefined): string {
  return given === undefined ? 'nothing' : printable(JSON.stringify(given));
}

function shown(given: unknown): string {
  return printable(String(given));
}
