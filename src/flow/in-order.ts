import { catchError, concatAll, defer, map, of, pipe, throwError, type ObservableInput, type OperatorFunction } from 'rxjs';

/** Waits for what becomes of each value, in their order; the end and an error wait, too. Nothing bounds how many values wait. */
export function inOrder<In, Out>(wait: (value: In, index: number) => ObservableInput<Out>): OperatorFunction<In, Out> {
  return pipe(
    map((value, index) => defer(() => wait(value, index))),
    catchError((error: unknown) => of(throwError(() => error))),
    concatAll(),
  );
}
