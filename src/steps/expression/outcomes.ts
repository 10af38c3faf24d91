import type { Row, Value } from '../../core/index.js';
import { dictionaryEncoder, mapping, mappedFrom, Unfit, type Mapped, type RecordBatch, type Vector } from '../../vector/index.js';
import type { Expression } from './expression.js';
import { ExpressionFault } from './functions.js';

/**
 * Evaluates expressions on all rows of a batch. For an expression over a single column, a repeated value is not evaluated again, and is looked up
 * once for all expressions on that column; their results then share its indices. For other expressions, rows are made with the fields they name.
 *
 * Memory: as `dictionaryEncoder`, for each column with an expression.
 *
 * @returns The results by name of the expression, in the order given.
 */
export function outcomesOf(expressions: ReadonlyMap<string, Expression>): (batch: RecordBatch) => ReadonlyMap<string, Mapped> {
  const evaluators = Array.from(expressions, ([name, expression]) => [name, evaluator(expression)] as const);
  const encoderOf = remembering(dictionaryEncoder);

  return (batch) => {
    const encoded = remembering((column) => encoderOf(column)(batch.column(column)));
    return new Map(evaluators.map(([name, evaluate]) => [name, evaluate(batch, encoded)]));
  };
}

/** @returns The function that evaluates an expression. `columnOf` returns the columns of the batch, as dictionaries where that pays off. */
function evaluator(expression: Expression): (batch: RecordBatch, columnOf: (name: string) => Vector) => Mapped {
  const mappingOf = remembering((column) => mapping((value) => attempt(expression, { [column]: value })));

  return (batch, columnOf) => {
    const named = batch.select(expression.names);
    const [column] = named.columns.keys();
    if (column === undefined || named.columns.size > 1) return mappedFrom(named.rows(), (row) => attempt(expression, row));
    return mappingOf(column)(columnOf(column));
  };
}

function remembering<R>(make: (name: string) => R): (name: string) => R {
  const made = new Map<string, R>();
  return (name) => {
    const known = made.get(name);
    if (known !== undefined) return known;
    const fresh = make(name);
    made.set(name, fresh);
    return fresh;
  };
}

function attempt(expression: Expression, row: Row): Value | Unfit {
  try {
    return expression.evaluate(row);
  } catch (error) {
    if (error instanceof ExpressionFault) return new Unfit(error.message);
    throw error;
  }
}
