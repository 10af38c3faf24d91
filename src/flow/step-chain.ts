import { identity, tap, type Observable } from 'rxjs';
import { type Column, type Row, StepError } from '../core/index.js';
import { kindOf } from '../options/index.js';
import { isPage, type Page, type Step } from './page.js';
import { namingRows, type KnownRows } from './row-failure.js';
import type { OpenReading } from './reading.js';
import type { RowSource } from './row-source.js';
import { appliedIn, factsOf, type ColumnsContext } from './step-facts.js';

/** A sequence of steps, and the columns of its output. Types between steps are checked by their declarations. */
export class StepChain {
  /** The columns after the last step; `undefined` if unknown. */
  readonly columns: readonly Column[] | undefined;

  /** @throws {StepError} `E_STEP_CONFIG` for a step that names fields which the rows do not have, as far as columns are known. */
  constructor(
    private readonly source: RowSource,
    private readonly steps: readonly Step[] = [],
  ) {
    this.columns = this.#columnsBehind(steps, source.columns, refusing);
  }

  /** Appends steps. @throws {StepError} As the constructor. */
  followedBy(more: readonly Step[]): StepChain {
    return new StepChain(this.source, [...this.steps, ...more]);
  }

  /** Applies the steps to the pages of a read. */
  through(pages$: Observable<Page>, reading: OpenReading): Observable<Page> {
    const source$ = reading.watched(pages$.pipe(namingRows<Row>(undefined, () => undefined)), 'the source of the rows');
    const made$ = this.steps.reduce((each$: Observable<Page>, step, index) => {
      const facts = factsOf(step);
      const at = facts?.at ?? `pipe: operator ${index + 1}`;
      const stepped$ = each$.pipe(
        (pages$) => appliedIn(reading, step, pages$),
        facts === undefined ? tap(checkPage(at)) : identity,
        namingRows<Row>(facts?.at, () => this.#known(index)),
      );
      return reading.watched(stepped$, at, facts?.blocking);
    }, source$);
    return reading.concluded(made$);
  }

  /** Returns the output columns if the source has these undeclared columns in addition to the declared ones. No step takes their names. */
  columnsWith(undeclared: readonly Column[]): readonly Column[] | undefined {
    const { columns } = this.source;
    if (columns === undefined || undeclared.length === 0) return this.columns;
    const behind = this.#columnsBehind(this.steps, [...columns, ...undeclared], () => () => {});
    return behind && [...new Map(behind.map((column) => [column.name, column])).values()];
  }

  /** Returns what is known about the rows that arrive at a step. */
  #known(index: number): KnownRows | undefined {
    const { columns, key } = this.source;
    const arriving = this.#columnsBehind(this.steps.slice(0, index), columns, () => () => {});
    return arriving && { key, columns: arriving };
  }

  /** Follows columns through the steps. */
  #columnsBehind(
    steps: readonly Step[],
    from: readonly Column[] | undefined,
    problemAt: (at: string) => ColumnsContext['problem'],
  ): readonly Column[] | undefined {
    const { withheld } = this.source;
    const gone = new Map<string, string>();
    let columns = from;
    for (const step of steps) {
      const facts = factsOf(step);
      if (columns === undefined || facts === undefined) {
        gone.clear();
        columns = facts?.made;
        continue;
      }
      const left = facts.columns(columns, { gone, withheld, problem: problemAt(facts.at) });
      for (const { name } of columns) gone.set(name, facts.at);
      for (const { name } of left ?? columns) gone.delete(name);
      columns = left;
    }
    return columns;
  }
}

/** Returns a check that values are pages. @param who Names the producer in messages. */
export function checkPage(who: string): (page: Page) => void {
  return (page: unknown) => {
    if (isPage(page)) return;
    throw new StepError(
      'E_STEP_CONFIG',
      `${who} must emit pages, not ${kindOf(page)}; operators for rows go after .rows$, and operators that emit pages only in combination are passed as one, with pipe(…) of rxjs`,
    );
  };
}

function refusing(at: string): ColumnsContext['problem'] {
  return (_path, message) => {
    throw new StepError('E_STEP_CONFIG', `${at}: ${message}`);
  };
}
