import { defer, tap, type Observable } from 'rxjs';
import { type Column, declaredTypes, sensitivities } from '../core/index.js';
import { checkGiven, filledText, boolean, listOf, object, oneOf, repeatsIn, standsTwice } from '../options/index.js';
import type { Check } from '../options/index.js';
import type { Page } from './page.js';
import { RowStream } from './row-stream.js';
import { checkPage, type OpenedSource, type ReadFor } from './chain.js';

const kinds = { name: filledText, original: filledText, type: oneOf(declaredTypes), cast: boolean, sensitivity: oneOf(sensitivities) };
const list = listOf(object(kinds, Object.keys(kinds), 'open'), 1);

/** Checks for a program's columns: a list that is not empty, without repeated names. */
export const givenColumns: Check = (value, place) => {
  const wrong = list(value, place);
  if (wrong.length > 0) return wrong.slice(0, 1);
  const names = (value as readonly { readonly name: string }[]).map(({ name }) => name);
  return repeatsIn(names).map((index) => `${place}[${index}]: ${standsTwice(names[index] ?? '')}`);
};

const argumentsCheck = object({ columns: givenColumns });

/**
 * Creates a row stream from pages of another source.
 *
 * @param columns The columns of the rows. Default: unknown, so that `writeTo` needs them.
 * @throws {StepError} `E_STEP_CONFIG` if the columns are invalid.
 *
 * @example
 * import { of } from 'rxjs';
 *
 * const orders$ = of({ number: 1, rows: [{ no: 7 }], lease: { release: () => {} } });
 * for await (const order of fromPages(orders$)) console.log(order.no);
 */
export function fromPages<T>(pages$: Observable<Page<T>>, columns?: readonly Column[]): RowStream<T> {
  checkGiven('fromPages', argumentsCheck, { columns });
  const open = (): OpenedSource => ({
    // The row type is restored by the stream's type parameter.
    pages$: (pages$ as Observable<unknown> as Observable<Page>).pipe(tap(checkPage('fromPages: the observable'))),
    undeclared: () => [],
    consistency: undefined,
  });
  return new RowStream<T>({ columns, withheld: [], key: [], open });
}

/** The rows of the other side of a join: a row stream, or an observable of pages. */
export type Side<T> = RowStream<T> | Observable<Page<T>>;

export function pagesOf<T>(side: Side<T>, wanted: ReadFor): Observable<Page<T>> {
  if (side instanceof RowStream) return defer(() => RowStream.opened(side, wanted).pages$);
  // The row type is restored by the return type.
  const pages$ = (side as Observable<unknown> as Observable<Page>).pipe(tap(checkPage('the other side: the observable')));
  return pages$ as Observable<unknown> as Observable<Page<T>>;
}
