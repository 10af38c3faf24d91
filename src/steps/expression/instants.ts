import type { Column } from '../../core/index.js';
import { beside, readers } from './readers.js';

/** What to write, or why nothing can be proposed. */
export type Advice = { readonly remedy: string; readonly note?: string } | { readonly reason: string };

/** An operator between a column and literals, as written. */
export interface Operation {
  readonly op: string;
  readonly column: Column;
  /** Whether the column is to the left of the operator. */
  readonly first: boolean;
  /** The text of the literal, or of each in a list. */
  readonly literals: readonly string[];
  readonly isList: boolean;
}

/** Explains how to write a comparison or calculation of instants or days with numbers or texts. */
export function withInstants(operation: Operation): Advice {
  return /^[-+*/%]$/.test(operation.op) ? calculated(operation) : compared(operation);
}

/** Whether a text is four digits that may be a year. */
export function isYear(text: string): boolean {
  return /^(?:1[89]|2[01])\d\d$/.test(text);
}

function compared(operation: Operation): Advice {
  const { column, op, literals } = operation;
  const { name, type } = column;
  const read = readOf(column);
  if (literals.every(isYear)) return { remedy: joined(operation, `${read}.getFullYear()`, literals) };
  const [literal = ''] = literals;
  const isMonth = type === 'date' && /^(?:19|20)\d\d(?:0[1-9]|1[0-2])$/.test(literal);
  if (isMonth && literals.length === 1 && (op === '==' || op === '!=') && !column.cast)
    return { remedy: `${op === '!=' ? '!' : ''}${name}.startsWith('${literal}')` };
  const instants = literals.map((text) => beside(type, text));
  if (instants.every((instant) => instant !== undefined)) return { remedy: joined(operation, read, instants) };
  const exact = literals.map((text) => beside(type, text) ?? fromMilliseconds(text));
  const wrong = literals[instants.indexOf(undefined)] ?? '';
  if (exact.every((instant) => instant !== undefined))
    return { remedy: joined(operation, read, exact), note: `, and ${wrong} looks like milliseconds` };
  const kind = !/^\d+$/.test(wrong)
    ? 'not a day or an instant'
    : /^\d{8}$/.test(wrong) || type === 'date'
      ? 'not a calendar day (YYYYMMDD)'
      : 'not a plausible number of seconds since 1970';
  const asked = `compare with a day as in ${read} >= date('20230101'), with a year as in ${read}.getFullYear() == 2023`;
  return { reason: `${wrong} is ${kind}; ${asked}` };
}

function calculated(operation: Operation): Advice {
  const { op, column, first, literals, isList } = operation;
  const [literal = ''] = literals;
  const read = readOf(column);
  const isWhole = /^\d+$/.test(literal) && !isList;
  const instant = isWhole ? beside(column.type, literal) : undefined;
  if (op === '-' && instant !== undefined && literal.length >= 8) return { remedy: joined(operation, read, [instant]) };
  const span = isWhole ? spanOf(column, Number(literal)) : undefined;
  // The library types a duration plus an instant as a duration, so the instant comes first.
  if (span !== undefined && (op === '+' || (op === '-' && first))) return { remedy: `${read} ${op} ${span}` };
  if (column.type === 'timestamp' && !column.cast && !/^[-+]$/.test(op) && !isList)
    return { remedy: joined(operation, `num(${column.name})`, [/^\d+$/.test(literal) ? `${literal}.0` : literal]) };
  return {
    reason: `there is no ${op} for an instant and this number; add days and seconds as in ${read} + duration('24h'), and get parts with ${read}.getFullYear(), getMonth() (0 in January) and getDate()`,
  };
}

/** Returns the duration meant by a number: of seconds for an instant, of days for a day. */
function spanOf({ type }: Column, count: number): string | undefined {
  if (type === 'timestamp') return count < 1e9 ? `duration('${count}s')` : undefined;
  return count <= 31 ? `duration('${count * 24}h')` : undefined;
}

function fromMilliseconds(text: string): string | undefined {
  if (!/^\d{12,13}$/.test(text)) return undefined;
  return text.endsWith('000') ? `epoch('${text.slice(0, -3)}')` : `timestamp('${new Date(Number(text)).toISOString()}')`;
}

function readOf({ name, type, cast }: Column): string {
  return cast ? name : `${readers[type]}(${name})`;
}

function joined({ op, first, isList }: Operation, read: string, others: readonly string[]): string {
  const other = isList ? `[${others.join(', ')}]` : others.join(', ');
  return first ? `${read} ${op} ${other}` : `${other} ${op} ${read}`;
}
