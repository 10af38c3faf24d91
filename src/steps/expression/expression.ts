import { EvaluationError, ParseError, type ASTNode, type TypeCheckResult } from '@marcbachmann/cel-js';
import type { Column, DeclaredType, Row, Value, Warning } from '../../core/index.js';
import { runtimeOver, typingOver, unknownStart } from './environments.js';
import { failing, unreadable } from './constants.js';
import { directCall } from './direct.js';
import { doubtsOf } from './doubts.js';
import { makeExact } from './exact.js';
import { asValue } from './as-value.js';
import { ExpressionFault } from './fault.js';
import { foreignCall, type Proposals } from './foreign.js';
import { callOf, functions, type Start } from './functions.js';
import { limitIn, macroProblem } from './limits.js';
import { isNode, nodesIn } from './nodes.js';
import { readAsDeclared } from './read-as-declared.js';
import { makeThreeValued } from './nulls.js';
import { isRefused, misreadIn, refusalOf } from './refusal.js';
import { syntaxProblem } from './syntax.js';

/** A checked expression over the fields of a row. */
export interface Expression {
  /** Type of its result. */
  readonly type: DeclaredType;
  /** Every name in it. Its result depends only on the fields of a row among them. */
  readonly names: readonly string[];
  /** Warnings about what its author probably did not intend. */
  readonly doubts: readonly Warning[];
  /** @throws {ExpressionFault} When the row's values do not fit; the message contains no value. */
  evaluate(row: Row): Value;
  /** Loads what its functions need, so that the first row does not wait for it. */
  prepare(): void;
}

/** What is wrong with the text of an expression. */
export interface ExpressionProblem {
  readonly message: string;
  /** The offset of the character in question, from 0. */
  readonly at?: number;
  /** The name used as a field, if it is the name of something else. */
  readonly field?: string;
  /** The unknown name, with the names that may have been meant. */
  readonly unknown?: UnknownName;
}

/** A name in an expression that is not defined. */
export interface UnknownName {
  readonly kind: 'field' | 'function';
  readonly name: string;
  readonly known: readonly string[];
  /** The known names to list when none is similar. */
  readonly listed?: readonly string[];
}

const typeByCel: Readonly<Record<string, DeclaredType>> = {
  string: 'text',
  dyn: 'text',
  null: 'text',
  bool: 'flag',
  int: 'integer',
  double: 'decimal',
  'google.protobuf.Timestamp': 'timestamp',
};

/** Codes of runtime failures whose messages contain only types. */
const safeCodes = new Set(['no_such_overload', 'no_matching_overload', 'invalid_condition_type']);

/**
 * Checks expressions (CEL, the Common Expression Language) over given columns: syntax, field and function names, and whether they can succeed for any
 * row. A field may be `null` in any row, so its type is open.
 *
 * @param start When the run was first started, for expressions that are evaluated. By default they are only checked.
 */
export function expressionsOver(
  columns: readonly Column[],
  start: Start = unknownStart,
): { compile(source: string): Expression | ExpressionProblem } {
  return new Compiler(columns, start);
}

class Compiler {
  readonly #runtime;
  readonly #typing;
  readonly #callable: readonly string[];
  readonly #methods: readonly string[];
  readonly #proposals: Proposals;

  constructor(
    private readonly columns: readonly Column[],
    start: Start,
  ) {
    this.#runtime = runtimeOver(columns, start);
    this.#typing = typingOver(columns);
    const definitions = this.#typing.getDefinitions().functions;
    const namesOf = (found: typeof definitions) => [...new Set(found.map(({ name }) => name))];
    this.#callable = namesOf(definitions.filter(({ receiverType }) => receiverType === null));
    this.#methods = namesOf(definitions.filter(({ receiverType }) => receiverType !== null));
    this.#proposals = { columns, typeOf: (expression) => this.#typeOf(expression) };
  }

  compile(written: string): Expression | ExpressionProblem {
    const check = this.#runtime.check(written);
    if (!check.valid) {
      const names = { callable: this.#callable, methods: this.#methods, parse: () => this.#runtime.parse(written).ast };
      return problemOf(written, check.error, this.#proposals, names);
    }
    const source = readAsDeclared(written, this.#runtime.parse(written).ast, this.#proposals);
    const program = this.#runtime.parse(source);
    const nodes = [...nodesIn(program.ast)];
    const inferred = this.#typing.check(source);
    const problem =
      limitProblem(nodes, program.ast) ??
      unreadable(nodes) ??
      messageOnly(refusalOf(inferred, this.#proposals, source)) ??
      failing(source, nodes, (constant) => this.#runtime.evaluate(constant));
    if (problem !== undefined) return problem;
    const type = typeByCel[(inferred.valid ? inferred.type : check.type) ?? 'dyn'];
    if (!type) return { message: `returns a ${check.type ?? 'value'}, which no column can hold` };
    return this.#expression(source, program, nodes, type);
  }

  #expression(source: string, program: Program, nodes: readonly ASTNode[], type: DeclaredType): Expression {
    const { columns } = this;
    const named = new Set(nodes.flatMap(({ op, args }) => (op === 'id' && typeof args === 'string' ? [args] : [])));
    const used = columns.map(({ name }) => name).filter((name) => named.has(name));
    const day = program.ast.op === 'call' && functions[program.ast.args[0]]?.day === true;
    const doubts = doubtsOf(source, nodes, columns);
    makeExact(this.#runtime, program.ast);
    makeThreeValued(program.ast);
    const evaluate = directCall(program.ast, columns, (row) => program(complete(row, used)));
    return {
      type: day ? 'date' : type,
      names: [...named],
      doubts,
      evaluate: (row) => asValue(run(evaluate, row), type),
      prepare: () => nodes.forEach(({ op, args }) => op === 'call' && functions[args[0]]?.prepare?.()),
    };
  }

  /** Returns the type of an expression that may have been meant. */
  #typeOf(expression: string): string | undefined {
    if (!this.#runtime.check(expression).valid || unreadable([...nodesIn(this.#runtime.parse(expression).ast)])) return undefined;
    const inferred = this.#typing.check(expression);
    return isRefused(inferred) ? undefined : (inferred.type ?? 'dyn');
  }
}

/** A parsed expression, ready to evaluate on rows. */
type Program = ReturnType<ReturnType<typeof runtimeOver>['parse']>;

/** Refuses constructs whose run time has no bound. */
function limitProblem(nodes: readonly ASTNode[], ast: ASTNode): ExpressionProblem | undefined {
  if (nodes.some(({ op, args }) => (op === 'call' || op === 'rcall') && args[0] === 'matches'))
    return { message: 'matches() is refused, because a regular expression can take forever; use contains, startsWith or endsWith' };
  return messageOnly(macroProblem(ast));
}

function messageOnly(message: string | undefined): ExpressionProblem | undefined {
  return message === undefined ? undefined : { message };
}

/** Returns the row with `null` for the given columns it lacks. */
function complete(row: Row, names: readonly string[]): Row {
  const missing = names.filter((name) => row[name] === undefined);
  return missing.length === 0 ? row : { ...row, ...Object.fromEntries(missing.map((name) => [name, null])) };
}

function run(program: (row: Row) => unknown, row: Row): unknown {
  try {
    return program(row);
  } catch (error) {
    if (error instanceof ExpressionFault) throw error;
    if (error instanceof EvaluationError) {
      throw new ExpressionFault(safeCodes.has(error.code) ? error.summary : error.code.replaceAll('_', ' '));
    }
    throw new ExpressionFault('the expression failed');
  }
}

function problemOf(
  source: string,
  error: TypeCheckResult['error'],
  proposals: Proposals,
  { callable, methods, parse }: { readonly callable: readonly string[]; readonly methods: readonly string[]; parse(): unknown },
): ExpressionProblem {
  const { columns } = proposals;
  // The parser passes on a stack overflow, which its types do not include.
  const message = (error instanceof RangeError ? error.message : error?.summary) ?? 'cannot be read';
  const at = error?.range?.start ?? 0;
  const limit = limitIn(message);
  if (limit !== undefined) return { message: limit };
  if (error instanceof ParseError) return syntaxProblem(source, at, message, columns);
  const node = isNode(error?.node) ? error.node : undefined;
  const field = /^Unknown variable: (\S+)/.exec(message)?.[1];
  const called = field === undefined ? undefined : [...nodesIn(parse())].find((call) => isCallOn(call, at));
  if (field !== undefined && called?.op === 'rcall' && !methods.includes(called.args[0])) {
    const [method, , operands] = called.args;
    const said = foreignCall({ name: method, operands, source }, proposals);
    return said === undefined
      ? { message, at, unknown: unknownFunction(`${field}.${method}`) }
      : { message: said.replace(method, `${field}.${method}`), at };
  }
  if (field !== undefined && Object.hasOwn(functions, field))
    return { message: `'${field}' is a function, not a field; it ${callOf(field)}`, at, field };
  if (field !== undefined) return { message, at, unknown: { kind: 'field', name: field, known: columns.map(({ name }) => name) } };
  const [, receiver, call] = /^found no matching overload for '(?:([\w.<>, ]+)\.)?(\w+)\(/.exec(message) ?? [];
  if (call !== undefined && !(receiver === undefined ? callable : methods).includes(call)) {
    const operands = node?.op === 'rcall' ? [node.args[1], ...node.args[2]] : node?.op === 'call' ? node.args[1] : [];
    const said = foreignCall({ name: call, operands, source }, proposals);
    if (said !== undefined) return { message: said, at };
    return { message, at, unknown: { ...unknownFunction(call), known: receiver === undefined ? callable : methods } };
  }
  const way = call === undefined || receiver !== undefined ? undefined : callOf(call);
  if (way !== undefined) return { message: `${call}() ${way}`, at };
  if (/^Logical operator requires bool operands, got 'string'/.test(message))
    return { message: '|| and && join conditions; text is joined with +', at };
  const misread = node && misreadIn(node, proposals, source);
  return { message: misread ?? message, at };

  function unknownFunction(name: string): UnknownName {
    return { kind: 'function', name, known: callable, listed: Object.keys(functions) };
  }
}

/** Whether a method is called on the name at an offset. */
function isCallOn({ op, args }: ASTNode, at: number): boolean {
  return op === 'rcall' && args[1].op === 'id' && args[1].start === at;
}
