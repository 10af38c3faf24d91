import type { Row, Value } from '../../collections/index.js';
import { type Content, memoOfTexts, Table, Texts } from '../../columnar/index.js';

import type { Expression } from './expression.js';
import { ExpressionFault } from './fault.js';

/** Why an expression has no value for a row. */
export class Unfit {
  constructor(readonly reason: string) {}
}

/** What an expression gives for the rows of a page, row by row. */
export type Outcomes = readonly (Value | Unfit)[];

/**
 * Evaluates expressions at all rows of a page. Of a table, rows are made of the fields that an expression names only. Where that
 * is a single column of texts, a text that comes again is not evaluated again, and looked up once for all expressions on it.
 *
 * Memory: as `memoOfTexts`, for each column that an expression is on.
 *
 * @returns What each expression gives, in their order.
 */
export function outcomesOf(expressions: readonly Expression[]): (content: Content) => readonly Outcomes[] {
  const namesOf = ({ names }: Expression) => names.toSorted().join();
  const groups = [...new Set(expressions.map(namesOf))].map((names) => {
    const places = expressions.flatMap((expression, place) => (namesOf(expression) === names ? [place] : []));
    return { places, evaluate: overTables(places.flatMap((place) => expressions[place] ?? [])) };
  });

  return (content) => {
    if (!(content instanceof Table)) return expressions.map((expression) => content.map((row) => attempt(expression, row)));
    const outcomes: Outcomes[] = [];
    for (const { places, evaluate } of groups) {
      for (const [index, found] of evaluate(content).entries()) outcomes[places[index] ?? 0] = found;
    }
    return outcomes;
  };
}

/** @param expressions All with the same names. */
function overTables(expressions: readonly Expression[]): (table: Table) => readonly Outcomes[] {
  const names = expressions[0]?.names ?? [];
  const evaluate = (row: Row): Outcomes => expressions.map((expression) => attempt(expression, row));
  const memos = new Map<string, (texts: Texts, row: number) => Outcomes>();

  function memoOf(name: string) {
    const memo = memos.get(name) ?? memoOfTexts((text) => evaluate({ [name]: text }));
    memos.set(name, memo);
    return memo;
  }

  /** What all expressions give for a row. */
  function outcomesIn(table: Table): (row: number) => Outcomes {
    const columns = [...table.columns].filter(([name]) => names.includes(name));
    const [[name, cells] = []] = columns;
    if (name !== undefined && columns.length === 1 && cells instanceof Texts) {
      const memo = memoOf(name);
      return (row) => memo(cells, row);
    }
    const { rows } = new Table(table.length, new Map(columns));
    return (row) => evaluate(rows[row] ?? {});
  }

  return (table) => {
    const outcomesAt = outcomesIn(table);
    const columns = expressions.map(() => new Array<Value | Unfit>(table.length).fill(null));
    for (let row = 0; row < table.length; row += 1) {
      const outcomes = outcomesAt(row);
      for (let index = 0; index < columns.length; index += 1) {
        const column = columns[index];
        if (column) column[row] = outcomes[index] ?? null;
      }
    }
    return columns;
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
