import type { Column, DeclaredType } from '../../core/index.js';

/** A column that `derive` adds or overwrites. */
export interface Derived {
  readonly name: string;
  readonly type: DeclaredType;
  readonly sensitivity: Column['sensitivity'];
}

/** Returns the columns that leave the step. An overwritten column keeps its position. */
export function derivedColumns(derived: readonly Derived[], input: readonly Column[]): readonly Column[] {
  const added = derived.map(({ name, type, sensitivity }): Column => {
    const original = input.find((column) => column.name === name)?.original ?? name;
    return { name, original, type, cast: true, sensitivity };
  });
  return [...new Map([...input, ...added].map((column) => [column.name, column])).values()];
}
