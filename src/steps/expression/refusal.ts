import type { ASTNode, TypeCheckResult } from '@marcbachmann/cel-js';
import type { Column } from '../../core/index.js';
import { foreignCall, type Proposals } from './foreign.js';
import { callOf } from './functions.js';
import { isYear, withInstants } from './instants.js';
import { isNode } from './nodes.js';
import { beside, readers } from './readers.js';
import { listOf } from './texts.js';

/** Type errors that affect every row: no value of such types, not even `null`, avoids them. */
const certain = new Set([
  'no_such_overload',
  'no_matching_overload',
  'invalid_condition_type',
  'invalid_logical_operand',
  'cannot_index_type',
  'invalid_comprehension_range',
]);

/** Exceptions that still depend on the values: `[1] == [1.0]` and `1.0 in {1: 'a'}` are true, and `[1] + ['a']` is a list. */
const depends = /\bnull\b| (?:[!=]=|\+) (?:list|map)| in map/;

/**
 * Explains, from its type error, why an expression fails for every row; `undefined` if it can succeed, like one whose alternatives have different types.
 */
export function refusalOf(inferred: TypeCheckResult, proposals: Proposals, source: string): string | undefined {
  const { error } = inferred;
  if (!error || !isRefused(inferred)) return undefined;
  const { columns } = proposals;
  const node = isNode(error.node) ? error.node : undefined;
  const said = node && (misreadIn(node, proposals, source) ?? calledOn(node, proposals, source));
  if (said !== undefined) return said;
  const way = node?.op === 'call' ? callOf(node.args[0]) : undefined;
  if (node?.op === 'call' && way !== undefined) return `${node.args[0]}() ${way}`;
  const texts = textsAt(node, error.code, columns);
  if (!node || texts.length === 0) return `${error.summary}, for every row${noteOn(error.summary, node, columns)}`;
  const names = texts.map(({ name }) => name).join(' and ');
  const condition = wantsFlag(node, error.code);
  const are = `${names} ${texts.length > 1 ? 'are' : 'is'} text here`;
  const [only] = texts;
  const told = condition
    ? undefined
    : (searchOf(node, columns, source) ?? (texts.length === 1 && only ? comparisonOf(node, only, source) : undefined));
  if (told && 'reason' in told) return `${are}, and ${told.reason}`;
  const works = told !== undefined && proposals.typeOf(told.remedy) !== undefined;
  const whole = works ? told : undefined;
  const remedies = texts.map(({ name, type }) =>
    condition && type !== 'flag' ? `a comparison like ${name} == '…'` : `${readers[type]}(${name})`,
  );
  const read = whole || condition ? undefined : readIn(node, texts, source);
  if (read !== undefined && proposals.typeOf(read) === undefined) return `${are}, and ${read} is refused too`;
  const cast = whole?.evenCast === false || texts.every((column) => column.cast) ? '' : ', or cast first';
  return `${are}${whole?.note ?? ''}; use ${whole?.remedy ?? remedies.join(' and ')}${whole?.words ?? ''}${cast}`;
}

/** Whether the types of an expression make it fail for every row. */
export function isRefused({ error }: TypeCheckResult): boolean {
  return error !== undefined && certain.has(error.code) && !depends.test(error.summary);
}

/** Explains an operand that is read differently than meant: a day without quotes is a subtraction, a name in quotes is a text. */
export function misreadIn(node: ASTNode, proposals: Proposals, source: string): string | undefined {
  const operands: readonly unknown[] = [node.args].flat();
  const { columns } = proposals;
  for (const operand of operands) {
    if (!isNode(operand)) continue;
    const said = saidBy(operand, source);
    const day = /^(\d{4})-(\d\d?)-(\d\d?)$/.exec(said);
    if (day) return `${said} is a subtraction here; ${withDay(node, day, proposals, source)}`;
    const named = operand.op === 'value' && columns.find(({ name, original }) => operand.args === name || operand.args === original);
    if (named && node.op !== 'rcall') return `${said} is text here; write a field's name without quotes: ${named.name}`;
  }
  return undefined;
}

function withDay(
  node: ASTNode,
  [said, year = '', month = '', day = '']: RegExpExecArray,
  { columns, typeOf }: Proposals,
  source: string,
): string {
  const date = `date('${year}${month.padStart(2, '0')}${day.padStart(2, '0')}')`;
  const operands = ([node.args].flat() as readonly unknown[]).filter(isNode);
  const column = columns.find(({ name }) => operands.some(({ op, args }) => op === 'id' && args === name));
  const text = column?.type === 'text';
  const sides = operands.map((operand) => {
    if (saidBy(operand, source) === said) return text ? `'${said}'` : date;
    if (operand.op !== 'id') return operand.op === 'call' ? saidBy(operand, source) : undefined;
    if (text || column?.cast) return column.name;
    return column?.type === 'timestamp' || column?.type === 'date' ? `${readers[column.type]}(${column.name})` : undefined;
  });
  const [left, right] = sides;
  const whole = left === undefined || right === undefined ? undefined : `${left} ${node.op} ${right}`;
  return whole === undefined || typeOf(whole) === undefined ? `write the day as ${date}` : `use ${whole}`;
}

/** Explains a method of instants called on text, and a member of a text. */
function calledOn({ op, args }: ASTNode, proposals: Proposals, source: string): string | undefined {
  if (op === '.') return foreignCall({ name: args[1], operands: [args[0]], source }, proposals);
  if (op !== 'rcall' || !args[0].startsWith('get')) return undefined;
  const [method, receiver] = args;
  const column = proposals.columns.find(({ name, cast }) => receiver.op === 'id' && name === receiver.args && !cast);
  if (column?.type !== 'timestamp' && column?.type !== 'date') return undefined;
  return `${column.name} is text here; use ${readers[column.type]}(${column.name}).${method}(), or cast first`;
}

/** Proposes `contains` for a search in the text of a column, which other languages write as `in`. */
function searchOf({ op, args }: ASTNode, columns: readonly Column[], source: string): Remedy | undefined {
  if (op !== 'in') return undefined;
  const [sought, text] = args;
  const isText = sought.op === 'id' || (sought.op === 'value' && typeof sought.args === 'string');
  if (!isText || text.op !== 'id' || !columns.some(({ name, type }) => name === text.args && type === 'text')) return undefined;
  return { remedy: `${text.args}.contains(${saidBy(sought, source)})`, evenCast: false };
}

/** What to write instead. */
interface Remedy {
  readonly remedy: string;
  /** Whether a cast would work as well. */
  readonly evenCast: boolean;
  /** Text after the remedy. */
  readonly words?: string | undefined;
  /** What to know about the original. */
  readonly note?: string | undefined;
}

/** Proposes a whole comparison or calculation with a text column, if reading the column alone is not enough. */
function comparisonOf(node: ASTNode, column: Column, source: string): Remedy | { readonly reason: string } | undefined {
  const [left, right, ...more]: readonly unknown[] = [node.args].flat();
  if (!isNode(left) || !isNode(right) || more.length > 0) return undefined;
  const { name, type } = column;
  const ofRight = left.op === 'id' && left.args === name;
  const other = ofRight ? right : left;
  const ordered = (read: string, value: string) => (ofRight ? `${read} ${node.op} ${value}` : `${value} ${node.op} ${read}`);
  const values = numbersIn(other);
  if (values === undefined) return undefined;
  const equality = node.op === '==' || node.op === '!=' || node.op === 'in';
  if (type === 'flag') {
    const wanted = truthOf(node.op, ofRight, values);
    const call = wanted === undefined ? 'flag' : wanted ? 'flag' : '!flag';
    return { remedy: `${call}(${name})`, words: ' by itself, without a number', evenCast: false };
  }
  if (type === 'text' && equality) return { remedy: ordered(name, quoted(other, source)), evenCast: false };
  if (type === 'timestamp' || type === 'date') {
    const isList = other.op === 'list';
    const literals = (isList ? other.args : [other]).map((item) => saidBy(item, source));
    const advice = withInstants({ op: node.op, column, first: ofRight, literals, isList });
    return 'reason' in advice ? advice : { ...advice, evenCast: false };
  }
  if (/^[-+*/%]$/.test(node.op) && values.every((value) => typeof value === 'bigint')) {
    return { remedy: ordered(`num(${name})`, `${saidBy(other, source)}.0`), evenCast: true };
  }
  return undefined;
}

/** Returns both sides of an operator with the text columns read by type; `undefined` if a side is more than a name, a literal or a call. */
function readIn(node: ASTNode, texts: readonly Column[], source: string): string | undefined {
  const [left, right]: readonly unknown[] = [node.args].flat();
  if (!isNode(left) || !isNode(right) || !isOperator(node.op)) return undefined;
  const sides = [left, right].map((side) => {
    const column = texts.find(({ name }) => side.op === 'id' && name === side.args);
    if (column) return `${readers[column.type]}(${column.name})`;
    return ['call', 'id', 'value', 'list', '-_'].includes(side.op) ? saidBy(side, source) : undefined;
  });
  const [first, second] = sides;
  return first === undefined || second === undefined ? undefined : `${first} ${node.op} ${second}`;
}

function isOperator(op: string): boolean {
  return /^(?:[-+*/%<>]|[=!<>]=|in)$/.test(op);
}

/** Returns the number, or the numbers of the list, that a part consists of; `undefined` for anything else. */
function numbersIn(node: ASTNode): readonly (number | bigint)[] | undefined {
  if (node.op === '-_') return isNode(node.args) ? numbersIn(node.args) : undefined;
  if (node.op === 'value') return typeof node.args === 'number' || typeof node.args === 'bigint' ? [node.args] : undefined;
  if (node.op !== 'list' || node.args.length === 0) return undefined;
  const values = node.args.map((item) => (item.op === 'value' ? numbersIn(item) : undefined));
  return values.every((value) => value !== undefined) ? values.flat() : undefined;
}

/** Whether a comparison with 1 or 0 asks for yes or for no. */
function truthOf(op: string, ofRight: boolean, values: readonly (number | bigint)[]): boolean | undefined {
  const [value] = values.map(Number);
  if (values.length !== 1 || value === undefined) return undefined;
  if (op === '==' || op === 'in') return value !== 0;
  if (op === '!=') return value === 0;
  return (op === '>' || op === '>=') === ofRight;
}

function quoted(node: ASTNode, source: string): string {
  return node.op === 'list' ? `[${node.args.map((item) => quoted(item, source)).join(', ')}]` : `'${saidBy(node, source)}'`;
}

function saidBy({ start, end }: ASTNode, source: string): string {
  return source.slice(start, end);
}

/** Returns a hint based on the types, if any. */
function noteOn(summary: string, node: ASTNode | undefined, columns: readonly Column[]): string {
  const [, left = '', right = ''] = /^no such overload: (\S+) \S+ (\S+)$/.exec(summary) ?? [];
  const sides = [left, right];
  if (sides.includes('double') && sides.includes('int')) return ' (a decimal needs 2.0, not 2)';
  const operands = ([node?.op === 'id' ? node : node?.args].flat(2) as readonly unknown[]).filter(isNode);
  if (sides.includes('int') && operands.some(({ op, args }) => op === 'call' && args[0] === 'month'))
    return " (month() returns text like '2026-11'; getMonth() + 1 is the number of a month)";
  if (sides.includes('google.protobuf.Timestamp')) {
    const literal = operands.find(({ op }) => op === 'value');
    if (literal?.op !== 'value') return '';
    const text = String(literal.args);
    if (sides.includes('int') && /^[-+]$/.test(node?.op ?? '')) return ` (duration('${text}s') is a span of time)`;
    const instant = beside('timestamp', text);
    if (instant !== undefined) return ` (${instant} is an instant)`;
    return isYear(text) ? ' (getFullYear() is the year of an instant)' : '';
  }
  const number = operands.find(({ op, args }) => op === 'value' && typeof args === 'string' && beside('decimal', args) !== undefined);
  if (number && (sides.includes('int') || sides.includes('double'))) return ' (write a number without quotes)';
  const field = columns.some(
    ({ name, cast, type }) => (!cast || type === 'text') && operands.some(({ op, args }) => op === 'id' && args === name),
  );
  return field ? ' (a field is text unless cast)' : '';
}

function wantsFlag(node: unknown, code: string): boolean {
  return code === 'invalid_condition_type' || code === 'invalid_logical_operand' || (isNode(node) && node.op === '!_');
}

/** Returns the text columns directly at an operator, or used as a condition. For a call, the failing operand is unknown. */
function textsAt(node: ASTNode | undefined, code: string, columns: readonly Column[]): readonly Column[] {
  if (!node || !(code === 'no_such_overload' || wantsFlag(node, code))) return [];
  const operands: readonly unknown[] = node.op === 'id' ? [node] : listOf([node.args].flat());
  const names = new Set(operands.flatMap((operand) => (isNode(operand) && operand.op === 'id' ? [operand.args] : [])));
  return columns.filter(({ name, type, cast }) => names.has(name) && (!cast || type === 'text'));
}
