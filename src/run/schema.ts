import type { OutputColumn, Violation } from '../core/index.js';
import type { Published } from '../lake/index.js';

/** The columns of an output, now and in the last run. */
export interface Compared {
  readonly at: string;
  /** All columns that the output has or should get, including those of fields that arrived too late for this run. */
  readonly columns: readonly OutputColumn[];
  readonly earlier: Pick<Published, 'columns'> | undefined;
}

/**
 * Returns violations of `schema: freeze`: columns that are new, missing or of another type compared to the last run.
 * Without an earlier manifest there is nothing to compare with.
 *
 * @param undeclared Original names of undeclared fields: their columns are compared by these, all others by their names.
 */
export function refuseChanges(outputs: readonly Compared[], undeclared: ReadonlySet<string>): readonly Violation[] {
  const keyOf = ({ name, original }: OutputColumn) => (undeclared.has(original) ? `original ${original}` : `name ${name}`);

  function changesOf(columns: readonly OutputColumn[], earlier: readonly OutputColumn[]): readonly string[] {
    const before = new Map(earlier.map((column) => [keyOf(column), column]));
    const now = new Map(columns.map((column) => [keyOf(column), column]));
    const added = columns.filter((column) => !before.has(keyOf(column)));
    const missing = earlier.filter((column) => !now.has(keyOf(column)));
    const retyped = columns.flatMap((column) => {
      const was = before.get(keyOf(column))?.type;
      return was === undefined || was === column.type ? [] : [`${column.name} (${was} before, ${column.type} now)`];
    });
    return [list('new', added.map(nameOf)), list('missing', missing.map(nameOf)), list('changed type', retyped)].flat();
  }

  return outputs.flatMap(({ at, columns, earlier }): readonly Violation[] => {
    const changes = earlier ? changesOf(columns, earlier.columns) : [];
    if (changes.length === 0) return [];
    return [{ code: 'E_GATE_SCHEMA', message: `${at}: schema: the columns of the last run are frozen, found ${changes.join('; ')}` }];
  });
}

function nameOf({ name }: OutputColumn): string {
  return name;
}

function list(what: string, names: readonly string[]): readonly string[] {
  return names.length === 0 ? [] : [`${what}: ${names.join(', ')}`];
}
