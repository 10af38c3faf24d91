import type { Row, Value } from '../../collections/index.js';
import { memoOfTexts, Table, Texts } from '../../columnar/index.js';

/**
 * Evaluates an expression at rows of tables, by their index. Rows are made of the fields that it names only, and where this is a
 * single column of texts, of those texts only that did not come before.
 *
 * Memory: as `memoOfTexts`.
 *
 * @param evaluate Depends on nothing but the fields that are named.
 * @param names Every name in the expression; those that are no column of a table count for nothing.
 */
export function overTables(evaluate: (row: Row) => Value, names: readonly string[]): (table: Table) => (row: number) => Value {
  const memos = new Map<string, ReturnType<typeof memoOfTexts<Value>>>();

  function memoOf(name: string) {
    const memo = memos.get(name) ?? memoOfTexts((text) => evaluate({ [name]: text }));
    memos.set(name, memo);
    return memo;
  }

  return (table) => {
    const columns = names.flatMap((name) => {
      const cells = table.columns.get(name);
      return cells === undefined ? [] : [[name, cells] as const];
    });
    const [first] = columns;
    if (first && columns.length === 1 && first[1] instanceof Texts) {
      const [name, texts] = first;
      const memo = memoOf(name);
      return (row) => memo(texts, row);
    }
    const { rows } = new Table(table.length, new Map(columns));
    return (row) => evaluate(rows[row] ?? {});
  };
}
