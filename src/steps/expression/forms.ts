import type { ASTNode } from '@marcbachmann/cel-js';
import { expectations, parserOf, type Column } from '../../core/index.js';
import { isYear, withInstants, type Advice } from './instants.js';
import { isNode } from './nodes.js';
import { beside, readers } from './readers.js';
import { searches, textsOf, type Aliases } from './texts.js';

/**
 * Warns about text columns declared as numbers, instants or days that an expression reads as another kind, or searches for in a form that never
 * occurs: `yearmonthday == '2023-01-01'` is true for no row, and `epoch(yearmonthday)` is not an instant.
 */
export function formDoubts(nodes: readonly ASTNode[], columns: readonly Column[], aliases: Aliases): readonly string[] {
  const measured = columns.filter(({ type, cast }) => !cast && type !== 'text' && type !== 'flag');
  const names = new Set(measured.map(({ name }) => name));
  const fieldIn = (node: unknown) => {
    const [name, ...more] = textsOf(node, names, aliases);
    return more.length > 0 ? undefined : measured.find((column) => column.name === name);
  };
  return [...new Set(nodes.flatMap((node) => wrongReader(node, fieldIn) ?? wrongValue(node, fieldIn) ?? wrongPart(node, fieldIn) ?? []))];
}

type FieldIn = (node: unknown) => Column | undefined;

function wrongReader({ op, args }: ASTNode, fieldIn: FieldIn): string | undefined {
  if (op !== 'call') return undefined;
  const [reader, [operand]] = args;
  const column = strict.has(reader) ? fieldIn(operand) : undefined;
  if (!column || readers[column.type] === reader) return undefined;
  if (reader === 'bool' && column.type !== 'timestamp' && column.type !== 'date') return undefined;
  const { name, type } = column;
  const said = `${name} arrives as ${expectations[type]}, which ${reader}() does not read`;
  if (reader === 'date' && type === 'timestamp') return `${said}; use date(epoch(${name}))`;
  return reader === 'epoch' && type === 'date' ? `${said}; use date(${name})` : `${said}; ${readers[type]}(${name}) reads it`;
}

/**
 * Functions that refuse a text of another kind. Two are CEL's own: `timestamp`, which reads RFC 3339, and `bool`, which reads 1 and 0 among others.
 */
const strict: ReadonlySet<unknown> = new Set(['date', 'epoch', 'flag', 'timestamp', 'bool']);

function wrongValue({ op, args }: ASTNode, fieldIn: FieldIn): string | undefined {
  if (op !== '==' && op !== '!=' && op !== 'in') return undefined;
  const [left, right] = args;
  const first = fieldIn(left) !== undefined;
  const [field, other] = first ? [left, right] : [right, left];
  const column = fieldIn(field);
  const values: readonly (string | undefined)[] = (other.op === 'list' ? other.args : [other]).map(textIn);
  if (!column || !isTexts(values)) return undefined;
  const wrong = values.find((value) => value.trim() !== '' && !comesAs(column, value));
  if (wrong === undefined) return undefined;
  const isBare = field.op === 'id' && field.args === column.name && values.every((value) => value.trim() !== '');
  const operation = { op, column, first, literals: values, isList: other.op === 'list' };
  return doubt(column, wrong, isBare ? advised(operation) : undefined);
}

function advised(operation: Parameters<typeof withInstants>[0]): Advice | undefined {
  const { op, column, literals, isList, first } = operation;
  const { name, type } = column;
  if (type === 'timestamp' || type === 'date') return withInstants(operation);
  const values = literals.map((text) => beside(type, text));
  if (!isTexts(values)) return undefined;
  const other = isList ? `[${values.join(', ')}]` : values.join(', ');
  return { remedy: first ? `num(${name}) ${op} ${other}` : `${other} ${op} num(${name})` };
}

/** Finds a search for something that no text of that kind contains. */
function wrongPart({ op, args }: ASTNode, fieldIn: FieldIn): string | undefined {
  if (op !== 'rcall' || !searches.has(args[0])) return undefined;
  const [method, receiver, [sought]] = args;
  const column = fieldIn(receiver);
  const part = textIn(sought);
  if (!column || part === undefined || column.type === 'decimal') return undefined;
  const { name, type } = column;
  const [, year] = /^(\d{4})-?$/.exec(part) ?? [];
  const isYearOf = type === 'timestamp' && method === 'startsWith' && year !== undefined && isYear(year);
  const foreign = type === 'date' ? /\D/ : method === 'endsWith' ? /[^\d]/ : /[^\d+-]|\d[+-]/;
  if (!isYearOf && !foreign.test(part)) return undefined;
  if (isYearOf) return doubt(column, part, { remedy: `epoch(${name}).getFullYear() == ${year}` });
  const isBeginning = type === 'date' && method === 'startsWith' && /^\d{4}[-/.](?:\d\d(?:[-/.](?:\d\d)?)?)?$/.test(part);
  const remedy = `${name}.startsWith('${part.replaceAll(/\D/g, '')}')`;
  return doubt(column, part, isBeginning && receiver.op === 'id' ? { remedy } : undefined);
}

function doubt({ name, type }: Column, wrong: string, advice: Advice | undefined): string {
  const said = `${name} is text here and arrives as ${expectations[type]}, so no row has '${wrong}'`;
  if (!advice) return said;
  return 'reason' in advice ? `${said}; ${advice.reason}` : `${said}${advice.note ?? ''}; use ${advice.remedy}, or cast first`;
}

/** Whether a text has the form of a column's texts. */
function comesAs({ type }: Column, text: string): boolean {
  if (type === 'timestamp' || type === 'date') return beside(type, text) === `${readers[type]}('${text}')`;
  return parserOf(type)(text) !== undefined;
}

function textIn(node: unknown): string | undefined {
  return isNode(node) && node.op === 'value' && typeof node.args === 'string' ? node.args : undefined;
}

function isTexts(values: readonly (string | undefined)[]): values is readonly string[] {
  return values.every((value) => value !== undefined);
}
