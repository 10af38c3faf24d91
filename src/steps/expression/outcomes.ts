import type { Row, Value } from '../../collections/index.js';
import { Coded, codesOfTexts, perDictionary, putAt, Table, Texts, type Cells, type Content } from '../../columnar/index.js';
import type { Expression } from './expression.js';
import { ExpressionFault } from './fault.js';

/** What an expression gives for the rows of a page. */
export interface Outcomes {
  /** `null` where there is no value. */
  readonly cells: Cells;
  /** Why a row has none; `undefined` when all have one. */
  readonly unfit: ((row: number) => string | undefined) | undefined;
}

/**
 * Evaluates expressions at all rows of a page. Of a table, rows are made of the fields that an expression names only. Where that
 * is a single column of texts, a text that comes again is not evaluated again, and looked up once for all expressions on it; what
 * they give shares its codes then.
 *
 * Memory: as `codesOfTexts`, for each column that an expression is on.
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
    if (!(content instanceof Table)) return overRows(expressions, content);
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
  const columns = new Map(names.map((name) => [name, overColumn(name, expressions)]));

  return (table) => {
    const named = table.only(names);
    const [[name, cells] = []] = named.columns;
    const outcomes = name !== undefined && cells && named.columns.size === 1 ? columns.get(name)?.(cells) : undefined;
    return outcomes ?? overRows(expressions, named.rows);
  };
}

/** What gives the outcomes for a column in which values come again; `undefined` for others. */
function overColumn(name: string, expressions: readonly Expression[]): (cells: Cells) => readonly Outcomes[] | undefined {
  const codesOf = codesOfTexts();
  const dictionaries = perDictionary(
    () => expressions.map(() => new Findings()),
    (findings, value, code) => {
      const row = { [name]: value };
      const outcomes = expressions.map((expression) => attempt(expression, row));
      for (const [index, found] of findings.entries()) found.put(code, outcomes[index] ?? null);
    },
  );

  return (cells) => {
    const coded = cells instanceof Texts ? codesOf(cells) : cells;
    if (!(coded instanceof Coded)) return undefined;
    return dictionaries(coded).map(({ values, reasons }) => ({
      cells: new Coded(values, coded.codes),
      unfit: reasons.size === 0 ? undefined : (row) => reasons.get(coded.codes[row] ?? 0),
    }));
  };
}

function overRows(expressions: readonly Expression[], rows: readonly Row[]): readonly Outcomes[] {
  return expressions.map((expression) => {
    const findings = new Findings();
    for (const [index, row] of rows.entries()) findings.put(index, attempt(expression, row));
    const { values, reasons } = findings;
    return { cells: values, unfit: reasons.size === 0 ? undefined : (row) => reasons.get(row) };
  });
}

/** What an expression gives, by row or by code. */
class Findings {
  readonly values: Value[] = [];
  readonly reasons = new Map<number, string>();

  put(place: number, outcome: Value | Unfit): void {
    const unfit = outcome instanceof Unfit;
    if (unfit) this.reasons.set(place, outcome.reason);
    putAt(this.values, place, unfit ? null : outcome);
  }
}

/** Why an expression has no value for a row. */
class Unfit {
  constructor(readonly reason: string) {}
}

function attempt(expression: Expression, row: Row): Value | Unfit {
  try {
    return expression.evaluate(row);
  } catch (error) {
    if (error instanceof ExpressionFault) return new Unfit(error.message);
    throw error;
  }
}
