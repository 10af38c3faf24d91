import { map } from 'rxjs';
import { z } from 'zod';
import type { Row } from '../../collections/index.js';
import type { Content } from '../../columnar/index.js';
import { contentOf, reshapeAll, withRows, type Step } from '../../flow/index.js';
import { columnName, requireColumn } from '../fields.js';
import { defineStep } from '../step.js';

/** A row type with some of its fields under other names. */
export type Renamed<T, M extends Partial<Record<keyof T & string, string>>> = {
  readonly [K in keyof T as K extends keyof M ? (M[K] extends string ? M[K] : K) : K]: T[K];
};

/**
 * Gives fields other names; order and values stay.
 *
 * @param names New name by old name. Names may be swapped.
 *
 * @example
 * users$.pipe(rename({ uid: 'user_id' }));
 * // { uid: '7', affid: '1' }  ->  { user_id: '7', affid: '1' }
 */
export function rename<T extends Row, const M extends Partial<Record<keyof T & string, string>>>(names: M): Step<T, Renamed<T, M>> {
  const renamed = new Map<string, string | undefined>(Object.entries(names));
  const reshaped = reshapeAll((present) => new Map(present.map((name) => [renamed.get(name) ?? name, name])));
  return map((page) => withRows(page, reshaped(contentOf(page), []) as Content<Renamed<T, M>>));
}

export const renameStep = defineStep('rename', {
  summary: 'Gives fields other names.',
  config: z.record(z.string(), columnName).describe('New name by old name.'),
  examples: [{ lead_id: 'id' }],
  columns: (names, input, plan) => {
    for (const name of Object.keys(names)) requireColumn(name, input, plan, [name], true);
    const columns = input.map((column) => {
      const name = Object.hasOwn(names, column.name) ? names[column.name] : undefined;
      return name === undefined ? column : { ...column, name, original: name };
    });
    for (const [old, name] of Object.entries(names)) {
      if (columns.filter((column) => column.name === name).length > 1) plan.problem([old], `there is a field '${name}' already`);
    }
    return columns;
  },
  open: (names) => rename(names),
});
