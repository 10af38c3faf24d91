import { ParseError, type ASTNode, type TypeCheckResult } from '@marcbachmann/cel-js';
import { expectations, parserOf, reasonOf, type Column, type Warning } from '../../core/index.js';
import { comprehensions, isNode, nodesIn, unknownStart } from './environment.js';
import { functions, readers } from './functions.js';

export interface ExpressionProblem {
  readonly message: string;
  /** A field that the row does not have. */
  readonly unknown?: string | undefined;
}

/** Explains why an expression cannot be read, in the checker's words. */
export function invalid(source: string, error: TypeCheckResult['error']): ExpressionProblem {
  // The parser passes on a stack overflow, which its types do not include.
  if (error === undefined || error instanceof RangeError) return { message: 'cannot be read; it is too deep' };
  const message = error.summary;
  if (error instanceof ParseError) return { message: slip(source, error.range?.start ?? 0) ?? message };
  return { message, unknown: /^Unknown variable: (\S+)/.exec(message)?.[1] };
}

/** Says what to write for operators of SQL. Of other words the parser names a letter. */
function slip(source: string, at: number): string | undefined {
  const word = /^(?:=|[a-z_]\w*)/i.exec(source.slice(at))?.[0];
  const right = word === undefined ? undefined : { '=': '==', and: '&&', or: '||' }[word.toLowerCase()];
  return word && (right === undefined ? `unexpected '${word}'` : `'${word}' is written ${right} here`);
}

/** Limit for an expression that iterates over lists: its run time grows with the square of its length. */
const maxNodesWithComprehension = 1_000;

/**
 * Refuses what takes a time without bound. A nested comprehension runs through its list once per element of the outer one, and the list it makes can
 * be longer than its input. A bound value can also be longer than what it was made from.
 */
export function unbounded(nodes: readonly ASTNode[]): ExpressionProblem | undefined {
  if (nodes.some(({ op, args }) => (op === 'call' || op === 'rcall') && args[0] === 'matches'))
    return { message: 'matches() is refused, because a regular expression can take forever; use contains, startsWith or endsWith' };
  const iterating = nodes.filter(({ op, args }) => op === 'rcall' && comprehensions.includes(args[0]));
  if (nodes.length > maxNodesWithComprehension && iterating.length > 0)
    return { message: `an expression with a comprehension has at most ${maxNodesWithComprehension} parts` };
  if (isNested(iterating))
    return { message: `a comprehension (${comprehensions.join(', ')}) is refused within another, because it can take forever` };
  const binding = nodes.filter(({ op, args }) => op === 'rcall' && args[0] === 'bind');
  return isNested(binding) ? { message: 'cel.bind is refused within another, because it can take forever' } : undefined;
}

function isNested(nodes: readonly ASTNode[]): boolean {
  const all = new Set<unknown>(nodes);
  return nodes.some(({ args }) => [...nodesIn(args)].some((below) => all.has(below)));
}

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

/** Refuses what fails for every row by its types, in the checker's words. An expression whose alternatives have different types can succeed. */
export function failingByType({ error }: TypeCheckResult): ExpressionProblem | undefined {
  if (!error || !certain.has(error.code) || depends.test(error.summary)) return undefined;
  const decimal = /\bdouble(?: \S+|,) int\b|\bint(?: \S+|,) double\b/.test(error.summary) ? '; a decimal is written 2.0, not 2' : '';
  const text = /\bstring\b/.test(error.summary) ? '; a field is text until it is cast, or read with num(), flag(), epoch() or date()' : '';
  return { message: `${error.summary}, for every row${decimal}${text}` };
}

const samples: Readonly<Record<string, unknown>> = { string: '', double: 0, 'google.protobuf.Timestamp': new Date(0) };

/** Tries the constants after the first argument of our functions: some fail for every row, like a time zone that does not exist. */
export function wrongConstant(nodes: readonly ASTNode[], columns: readonly Column[]): ExpressionProblem | undefined {
  for (const [name, [first, ...others]] of nodes.flatMap(({ op, args }) => (op === 'call' ? [args] : []))) {
    if (name === 'format_time' && isDay(first, columns) && others[0]?.args !== 'UTC')
      return { message: "a day has no time zone; write 'UTC'" };
    const called = functions[name];
    // Whatever its country, phone() needs its package.
    const constants = others.every(({ op }) => op === 'value') ? others.map(({ args }) => args) : name === 'phone' ? ['CA'] : [];
    try {
      if (constants.length > 0) called?.call(samples[called.takes[0]?.[0] ?? ''], unknownStart, ...constants);
    } catch (failure) {
      return { message: `${name}(): ${reasonOf(failure)}` };
    }
  }
  return undefined;
}

/** Whether a part of an expression is a calendar day, by a function, or by columns of days. */
export function isDay(part: ASTNode | undefined, columns: readonly Column[] = []): boolean {
  if (part?.op === '?:') return part.args.slice(1).every((either) => isDay(either, columns));
  if (part?.op === 'id') return columns.some(({ name, type }) => type === 'date' && name === part.args);
  if (part?.op !== 'call') return false;
  const [name, values] = part.args;
  return name === 'coalesce' ? values.every((value) => isDay(value, columns)) : functions[name]?.day === true;
}

/** Says that `!=` is true where one side is null, unless the expression asks whether the field is. */
export function nullNotes(nodes: readonly ASTNode[], fields: readonly string[]): readonly string[] {
  const fieldsIn = (parts: readonly ASTNode[]) =>
    fields.filter((name) => [...nodesIn(parts)].some(({ op, args }) => op === 'id' && args === name));
  const asksForNull = ({ op, args }: ASTNode) =>
    op === 'call' ? /^(?:blank|coalesce)$/.test(args[0]) : (op === '==' || op === '!=') && args.some(({ args: value }) => value === null);
  const asked = fieldsIn(nodes.filter(asksForNull));
  return fieldsIn(nodes.filter(({ op }) => op === '!='))
    .filter((name) => !asked.includes(name))
    .map((name) => `!= is also true where ${name} is null; add ${name} != null if such rows should not count`);
}

/**
 * Warns where the text of a flag, a number or an instant is compared or read as another kind, and where constants are compared. All of it is valid
 * and finds too few rows: a flag arrives as `yes`, `Yes` or `1`, by characters `9` is greater than `18`, and no day is written `2023-01-01`.
 */
export function textWarnings(nodes: readonly ASTNode[], columns: readonly Column[]): readonly Warning[] {
  const typed = new Map(columns.filter(({ type, cast }) => !cast && type !== 'text').map((column) => [column.name, column]));
  const columnsIn = (texts: readonly ASTNode[]) => texts.flatMap(({ op, args }) => (op === 'id' ? (typed.get(args) ?? []) : []));
  const found = nodes.flatMap((node): readonly (Warning | undefined)[] => {
    const { op, args } = node;
    const [first, ...others]: readonly unknown[] = [args].flat();
    if (op === 'call') return columnsIn(textsIn(args[1])).map((column) => misread(column, args[0]));
    if (op === 'rcall')
      return searches.has(args[0]) ? columnsIn(textsIn(args[1])).map((column) => compared(column, args[0], textsIn(args[2]))) : [];
    if (!comparisons.has(op)) return [];
    if ([...nodesIn(args)].every((part) => part.op === 'value' || part.op === 'list')) return [constants];
    const [left, right] = [textsIn(first), textsIn(others)];
    return [
      ...columnsIn(left).map((column) => compared(column, op, right)),
      ...columnsIn(right).map((column) => compared(column, op, left)),
    ];
  });
  return [...new Map(found.flatMap((warning) => (warning ? [[warning.message, warning]] : []))).values()];
}

const comparisons: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=', 'in']);
const searches: ReadonlySet<string> = new Set(['startsWith', 'endsWith', 'contains']);
/** Functions whose result is still the text of their field. */
const changing: ReadonlySet<unknown> = new Set(['lower', 'upper', 'trim', 'coalesce']);
/** Functions that read one kind of text only. */
const strict: ReadonlySet<string> = new Set(['flag', 'epoch', 'date']);

const constants: Warning = {
  code: 'W_SPEC_CONSTANT',
  message: "constants are compared, so the result is the same for every row; write a field's name without quotes",
};

/** Returns the names and the texts, none of them blank, that are the value of a part of an expression or an element of a list. */
function textsIn(part: unknown): readonly ASTNode[] {
  if (Array.isArray(part)) return part.flatMap(textsIn);
  if (!isNode(part)) return [];
  const { op, args } = part;
  if (op === 'id' || (op === 'value' && typeof args === 'string' && args.trim() !== '')) return [part];
  const [first, ...others]: readonly unknown[] = [args].flat();
  if (op === 'call') return changing.has(first) ? textsIn(others) : [];
  if (op === 'rcall') return searches.has(args[0]) ? [] : textsIn(args[1]);
  return op === '?:' ? textsIn(others) : op === '+' || op === 'list' ? textsIn(args) : [];
}

function misread({ name, type }: Column, reader: string): Warning | undefined {
  if (!strict.has(reader) || readers[type] === reader) return undefined;
  return textual(`${name} is ${expectations[type]}, which ${reader}() does not read; use ${readers[type]}(${name})`);
}

/** @param texts What the text of a column is compared with. */
function compared({ name, type }: Column, op: string, texts: readonly ASTNode[]): Warning | undefined {
  if (texts.length === 0) return undefined;
  const remedy = `use ${readers[type]}(${name}), or cast first`;
  if (type === 'flag')
    return {
      code: 'W_SPEC_FLAG',
      message: `${name} is a flag and arrives as yes, Yes, 1 and other words, of which its text finds only some; ${remedy}`,
    };
  if (op.startsWith('<') || op.startsWith('>'))
    return textual(`${name} is text here and is compared character by character ('9' is greater than '18'); ${remedy}`);
  const fits = searches.has(op)
    ? (text: string) => type !== 'timestamp' && /^[-+]?\d*\.?\d*$/.test(text)
    : (text: string) => parserOf(type)(text) !== undefined;
  const literals = texts.flatMap((text) => (text.op === 'value' && typeof text.args === 'string' ? [text.args] : []));
  const wrong = literals.find((text) => !fits(text));
  if (wrong === undefined) return undefined;
  return textual(`${name} arrives as ${expectations[type]}, so its text never is or has '${wrong}'; ${remedy}`);
}

function textual(message: string): Warning {
  return { code: 'W_SPEC_TEXT', message };
}
