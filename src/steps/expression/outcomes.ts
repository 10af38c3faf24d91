import type { Row, Value } from '../../collections/index.js';
import { memoOfTexts, Table, Texts } from '../../columnar/index.js';
import type { Content } from '../../flow/index.js';
import type { Expression } from './expression.js';
import { ExpressionFault } from './fault.js';

/** Why an expression has no value for a row. */
export class Unfit {
  constructor(readonly reason: string) {}
}

/** What an expression gives for the rows of a page, by their index. */
export type OutcomeAt = (row: number) => Value | Unfit;

/**
 * Evaluates expressions at the rows of pages. Of a table, rows are made of the fields that an expression names only. Where that is
 * a single column of texts, a text that comes again is not evaluated again, nor looked up by each of the expressions on it.
 *
 * Memory: as `memoOfTexts`, for each column that an expression is on.
 */
export function outcomesOf(expressions: readonly Expression[]): (content: Content) => readonly OutcomeAt[] {
  const places = new Map<string, number[]>();
  expressions.forEach(({ names }, index) => {
    const on = names.toSorted().join();
    places.set(on, [...(places.get(on) ?? []), index]);
  });
  const groups = [...places.values()].map((indexes) => ({
    indexes,
    over: overTables(indexes.flatMap((index) => expressions[index] ?? [])),
  }));

  return (content) => {
    if (!(content instanceof Table)) return expressions.map((expression) => (row) => attempt(expression, content[row] ?? {}));
    const outcomes: OutcomeAt[] = [];
    for (const { indexes, over } of groups) {
      for (const [place, outcomeAt] of over(content).entries()) outcomes[indexes[place] ?? 0] = outcomeAt;
    }
    return outcomes;
  };
}

/** @param expressions All with the same names. */
function overTables(expressions: readonly Expression[]): (table: Table) => readonly OutcomeAt[] {
  const names = expressions[0]?.names ?? [];
  const evaluate = (row: Row) => expressions.map((expression) => attempt(expression, row));
  const memos = new Map(names.map((name) => [name, lazily(() => memoOfTexts((text) => evaluate({ [name]: text })))]));

  function outcomesIn(table: Table): (row: number) => readonly (Value | Unfit)[] {
    const columns = names.flatMap((name) => {
      const cells = table.columns.get(name);
      return cells === undefined ? [] : [[name, cells] as const];
    });
    const [[name, cells] = []] = columns;
    const memo = name === undefined || columns.length > 1 ? undefined : memos.get(name)?.();
    if (memo && cells instanceof Texts) return (row) => memo(cells, row);
    const { rows } = new Table(table.length, new Map(columns));
    return (row) => evaluate(rows[row] ?? {});
  }

  return (table) => {
    const outcomesAt = outcomesIn(table);
    let last = -1;
    let outcomes: readonly (Value | Unfit)[] = [];
    return expressions.map((_, index) => (row) => {
      if (row !== last) outcomes = outcomesAt(row);
      last = row;
      return outcomes[index] ?? null;
    });
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

function lazily<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
