import { map } from 'rxjs';
import { z } from 'zod';
import { copier, type Row } from '../../collections/index.js';
import { type Content, Table } from '../../columnar/index.js';
import { StepError } from '../../errors.js';
import { cellsIn, contentOf, withRows, type Step } from '../../flow/index.js';
import { refuseRepeats, requireColumn } from '../fields.js';
import { defineStep } from '../step.js';

/**
 * Keeps the named fields of every row, in the order given.
 *
 * @param fields Field names, at least one; a field missing from a row becomes `null`.
 * @throws {StepError} `E_STEP_CONFIG` without a field; `E_STEP_FIELD` when no row of a non-empty page has a named one.
 *
 * @example
 * users$.pipe(select(['uid', 'email']));
 * // { uid: '7', email: 'a@b.c', affid: '1' }  ->  { uid: '7', email: 'a@b.c' }
 */
export function select<T extends Row, K extends keyof T & string>(fields: readonly K[]): Step<T, Pick<T, K>> {
  if (fields.length === 0) throw new StepError('E_STEP_CONFIG', 'select: needs at least one field');
  const copy = copier(new Map(fields.map((field, index) => [field, index])));

  function selected(content: Content<T>): Content {
    if (content instanceof Table) return new Table(content.length, new Map(fields.map((field) => [field, cellsIn(content, field)])));
    return content.map((row) =>
      copy(
        row,
        fields.map((field) => row[field] ?? null),
      ),
    );
  }

  return map((page) => {
    const content = contentOf(page);
    const absent = content.length > 0 ? fields.find((field) => !hasField(content, field)) : undefined;
    if (absent !== undefined) throw new StepError('E_STEP_FIELD', `select: no row of page ${page.number} has a field ${absent}`);
    return withRows(page, selected(content) as Content<Pick<T, K>>);
  });
}

function hasField(content: Content, field: string): boolean {
  return content instanceof Table ? content.columns.has(field) : content.some((row) => Object.hasOwn(row, field));
}

export const selectStep = defineStep('select', {
  summary: 'Keeps some fields of every row.',
  config: z.array(z.string().min(1)).min(1).describe('Fields to keep, in output order.'),
  examples: [['lead_id', 'zipcode']],
  columns: (fields, input, plan) => {
    refuseRepeats(fields, plan);
    return fields.flatMap((name, index) => requireColumn(name, input, plan, [index]) ?? []);
  },
  open: (fields) => select(fields),
});
