import { map, pipe } from 'rxjs';
import { schema, type Column, type Row, StepError } from '../../core/index.js';
import { RecordBatch } from '../../vector/index.js';
import { batchOf, withBatch, withNode, type ColumnsContext, type Step } from '../../flow/index.js';
import { checkArguments } from '../../options/index.js';
import { defineStep } from '../step.js';
import { type WithoutUndefined, columnName, requireColumn, requireFields } from '../fields.js';

/** A row type with some fields renamed. */
export type Renamed<T, M extends Partial<Record<keyof T & string, string>>> = {
  readonly [K in keyof T as K extends keyof M ? (M[K] extends string ? M[K] : K) : K]: T[K];
};

const taken = schema((z) => z.strictObject({ names: z.record(z.string(), z.string().min(1)) }));

/**
 * Renames fields; their order and values stay the same.
 *
 * @param names New name by old name. Names may be swapped.
 * @throws {StepError} `E_STEP_CONFIG` when two fields of a page's rows would get the same name; `E_STEP_FIELD` when no row of a non-empty page has
 * one of the old names.
 *
 * @example
 * service.users.pipe(rename({ uid: 'user_id' }));
 * // { uid: '7', affid: '1' }  ->  { user_id: '7', affid: '1' }
 */
export function rename<T extends Row, const M extends Partial<Record<keyof T & string, string>>>(
  names: M & WithoutUndefined<M>,
): Step<T, Renamed<T, M>> {
  checkArguments('rename', taken, { names });
  const renamed = renaming<T, M>(names, (name) => {
    throw new StepError('E_STEP_CONFIG', `rename: there is already a field '${name}'`);
  });
  return withNode(pipe(requireFields<T>('rename', Object.keys(names)), renamed), {
    at: 'rename',
    columns: (input, context) => renamedColumns(names, input, context),
  });
}

type Names = Readonly<Partial<Record<string, string>>>;

function renamedColumns(names: Names, input: readonly Column[], context: ColumnsContext): readonly Column[] {
  for (const name of Object.keys(names)) requireColumn(name, input, context, [name], true);
  const columns = input.map((column) => {
    const name = Object.hasOwn(names, column.name) ? names[column.name] : undefined;
    return name === undefined ? column : { ...column, name, original: name };
  });
  for (const [old, name] of Object.entries(names)) {
    if (columns.filter((column) => column.name === name).length > 1) context.problem([old], `there is already a field '${name}'`);
  }
  return columns;
}

/** @param taken Called with a new name that another field already has; if it returns, that other field is dropped. */
function renaming<T extends Row, const M extends Partial<Record<keyof T & string, string>>>(
  names: M,
  taken: (name: string) => void,
): Step<T, Renamed<T, M>> {
  const renamed = new Map<string, string | undefined>(Object.entries(names));

  function layout(present: readonly string[]): ReadonlyMap<string, string> {
    const given = new Set(present.flatMap((name) => renamed.get(name) ?? []));
    const fields = new Map<string, string>();
    for (const name of present) {
      const now = renamed.get(name) ?? name;
      const goes = renamed.get(name) === undefined && given.has(name);
      if (goes || fields.has(now)) taken(now);
      if (!goes) fields.set(now, name);
    }
    return fields;
  }

  return map((page) => {
    const batch = batchOf(page);
    const columns = Array.from(layout([...batch.columns.keys()]), ([name, from]) => [name, batch.column(from)] as const);
    return withBatch(page, new RecordBatch(batch.length, new Map(columns)));
  });
}

export const renameStep = defineStep('rename', {
  summary: 'Renames fields.',
  config: (z) => z.record(z.string(), columnName()).describe('New name by old name.'),
  examples: [{ lead_id: 'id' }],
  columns: (names, input, plan) => renamedColumns(names, input, plan),
  // A field missing from the plan is one that the service returns undeclared: it gives way.
  open: (names) => renaming<Row, Readonly<Record<string, string>>>(names, () => {}),
});
