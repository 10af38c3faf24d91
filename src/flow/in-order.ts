import { EMPTY, concatMap, materialize, throwError, type ObservableInput, type OperatorFunction } from 'rxjs';

/** Waits for what becomes of each value, in their order; the end and an error wait, too. Nothing bounds how many values wait. */
export function inOrder<In, Out>(wait: (value: In, index: number) => ObservableInput<Out>): OperatorFunction<In, Out> {
  return (source$) =>
    source$.pipe(
      materialize(),
      concatMap(({ kind, value, error }, index) =>
        kind === 'N' ? wait(value, index) : kind === 'E' ? throwError((): unknown => error) : EMPTY,
      ),
    );
}
