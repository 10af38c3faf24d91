import { map } from 'rxjs';
import type { z } from 'zod';
import { schema, type Row, StepError } from '../../core/index.js';
import { RecordBatch } from '../../vector/index.js';
import { batchOf, withBatch, type Step } from '../../flow/index.js';
import { checkArguments } from '../../options/index.js';
import { builtInStep, stepOf } from '../step.js';
import { type WithoutUndefined, columnName, requireColumn } from '../fields.js';

/** A row type with some fields renamed. */
export type Renamed<T, M extends Partial<Record<keyof T & string, string>>> = {
  readonly [K in keyof T as K extends keyof M ? (M[K] extends string ? M[K] : K) : K]: T[K];
};

const parameters = schema((z) => z.strictObject({ names: z.record(z.string(), z.string().min(1)) }));

/**
 * Renames fields; their order and values stay.
 *
 * @param names New name by old name. Names may be swapped.
 * @throws {StepError} `E_STEP_CONFIG` if two fields of a page's rows would get the same name; `E_STEP_FIELD` if no row of a non-empty page
 * has one of the old names.
 *
 * @example
 * service.users.pipe(rename({ uid: 'user_id' }));
 * // { uid: '7', affid: '1' }  ->  { user_id: '7', affid: '1' }
 */
export function rename<T extends Row, const M extends Partial<Record<keyof T & string, string>>>(
  names: M & WithoutUndefined<M>,
): Step<T, Renamed<T, M>> {
  checkArguments('rename', parameters, { names });
  return stepOf(renameStep, names as RenameConfig, Object.keys(names));
}

export type RenameConfig = Readonly<Record<string, string>>;

export const renameStep = builtInStep('rename', {
  summary: 'Renames fields.',
  config: (z): z.ZodType<RenameConfig> => z.record(z.string(), columnName()).describe('New name by old name.'),
  examples: [{ lead_id: 'id' }],
  columns: (names, input, plan) => {
    for (const name of Object.keys(names)) requireColumn(name, input, plan, [name], true);
    const columns = input.map((column) => {
      const name = Object.hasOwn(names, column.name) ? names[column.name] : undefined;
      return name === undefined ? column : { ...column, name, original: name };
    });
    for (const [old, name] of Object.entries(names)) {
      if (columns.filter((column) => column.name === name).length > 1) plan.problem([old], `there is already a field '${name}'`);
    }
    return columns;
  },
  open: (names, { at, input }) => {
    const renamed = new Map(Object.entries(names));

    function layout(present: readonly string[]): ReadonlyMap<string, string> {
      const given = new Set(present.flatMap((name) => renamed.get(name) ?? []));
      const fields = new Map<string, string>();
      for (const name of present) {
        const now = renamed.get(name) ?? name;
        const goes = !renamed.has(name) && given.has(name);
        // A field that is not in the plan is undeclared: it gives way.
        if (input === undefined && (goes || fields.has(now)))
          throw new StepError('E_STEP_CONFIG', `${at}: there is already a field '${now}'`);
        if (!goes) fields.set(now, name);
      }
      return fields;
    }

    return map((page) => {
      const batch = batchOf(page);
      const columns = Array.from(layout([...batch.columns.keys()]), ([name, from]) => [name, batch.column(from)] as const);
      return withBatch(page, new RecordBatch(batch.length, new Map(columns)));
    });
  },
});
