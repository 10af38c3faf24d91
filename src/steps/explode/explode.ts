import { map } from 'rxjs';
import { itemAt, markRepeated, textOf, type Row, type Value } from '../../core/index.js';
import { batchOf, withBatch, type OnError, type Step, type StepContext } from '../../flow/index.js';
import { ambiguous, isList, isRecord, JsonText, readJson, type JsonItem } from '../../json/index.js';
import { FlatVector, memoOf, Unfit } from '../../vector/index.js';
import { keptRows } from '../evaluation.js';
import { columnName, onErrorKey, requireColumn, takeRows } from '../fields.js';
import { checkedConfig, builtInStep, nothingKept, stepOf } from '../step.js';

/** How a list is written, and what happens to rows. */
export interface ExplodeOptions {
  /** Text between elements, which are trimmed; blank ones are left out. Default: the field holds a JSON array. */
  readonly separator?: string | undefined;
  /** Whether a row with an empty list stays, with `null` as the element, or is dropped, as by SQL's `unnest`. Default `keep`. */
  readonly empty?: 'keep' | 'drop' | undefined;
  /** Name of an additional field for the element's position in its list, a bigint from 1; `null` for an empty list. */
  readonly position?: string | undefined;
  /** What happens to a row whose field does not hold a list. Default `reject`. */
  readonly onError?: OnError | undefined;
}

/**
 * Turns every element of a list into a row: the field holds the element, and the other fields are repeated. The key then no longer
 * identifies a row. Memory: all rows made from the lists of one page.
 *
 * @throws {StepError} `E_STEP_CONFIG`, synchronously, for invalid arguments; `E_STEP_FIELD` if no row of a non-empty page has the field;
 * `E_STEP_VALUE` for a text that is not a list, under `onError: 'fail'` and without a context that takes rejects.
 *
 * @example
 * service.links.pipe(explode('folders', { separator: ',' }));
 * // { id: '7', folders: 'a, b' }  ->  { id: '7', folders: 'a' }, { id: '7', folders: 'b' }
 */
export function explode<T extends Row>(field: keyof NoInfer<T> & string, options: ExplodeOptions = {}, context?: StepContext): Step<T, T> {
  return stepOf(explodeStep, checkedConfig(explodeStep, { field }, options, context), [field], context);
}

/** Returns a list's elements: of a JSON array, strings as they are, and other values except `null` as JSON text, with unchanged numbers. */
function listOf(value: Value, separator?: string): readonly (string | null)[] | Unfit {
  const text = textOf(value, 'text')?.trim() ?? '';
  if (text === '') return [];
  if (separator === undefined) return arrayOf(text);
  return text
    .split(separator)
    .map((element) => element.trim())
    .filter((element) => element !== '');
}

const noArray = new Unfit('is not a JSON array');
const ambiguousRecord = new Unfit('has a record with a name that occurs twice, with different values');

function arrayOf(text: string): readonly (string | null)[] | Unfit {
  // Half a surrogate pair has no UTF-8.
  if (!text.startsWith('[') || !text.isWellFormed()) return noArray;
  const items = readJson(Buffer.from(text));
  if (isList(items) && items.some((item) => isRecord(item) && item[ambiguous])) return ambiguousRecord;
  return isList(items) ? items.map((item) => (item === null || typeof item === 'string' ? item : jsonOf(item))) : noArray;
}

function jsonOf(item: JsonItem): string {
  if (item instanceof JsonText) return item.text;
  if (item === null || typeof item === 'string') return JSON.stringify(item);
  return `{${Object.entries(item)
    .map(([name, value]) => `${JSON.stringify(name)}:${jsonOf(value)}`)
    .join(',')}}`;
}

export const explodeStep = builtInStep('explode', {
  summary: 'Makes a row for every element of a field that holds a list; the other fields are repeated.',
  config: (z) =>
    z.strictObject({
      field: z.string().min(1).describe('Field that holds the list, and then the element.'),
      separator: z
        .string()
        .min(1)
        .optional()
        .describe(
          'Text between elements, which are trimmed; blank ones are left out. Default: the field holds a JSON array, whose strings are used as they are and other values as their JSON text.',
        ),
      empty: z
        .enum(['keep', 'drop'])
        .default('keep')
        .describe("What happens to a row whose list is empty: keep keeps it with null as the element, drop drops it, like SQL's unnest."),
      position: columnName().optional().describe('Name of an extra field for the position of the element, from 1. Default: none.'),
      on_error: onErrorKey(z, 'whose field does not hold a JSON array; with null the element is null'),
    }),
  examples: [{ field: 'meta' }, { field: 'tag_string_local', separator: ',', empty: 'drop', position: 'tag_no' }],
  columns: ({ field, position }, input, plan) => {
    const column = requireColumn(field, input, plan, ['field']);
    if (column?.cast && column.type !== 'text')
      plan.problem(['field'], `field '${field}' is ${column.type} here, not a list; explode it before it is cast`);
    if (position !== undefined && input.some(({ name }) => name === position))
      plan.problem(['position'], `there is already a field '${position}'; choose another name`);
    const exploded = markRepeated(input).map((each) =>
      each.name === field ? { ...each, source: undefined, origin: each.origin && `an element of ${each.origin}` } : each,
    );
    if (position === undefined) return exploded;
    return [...exploded, { name: position, original: position, type: 'integer', cast: true, sensitivity: 'plain' }];
  },
  open: ({ field, separator, empty, position, on_error }, runtime) => {
    const { tally, onError = 'reject' } = runtime;
    const listsIn = memoOf((value) => listOf(value, separator));
    return map((page) => {
      const batch = batchOf(page);
      const column = batch.columnOrNulls(field);
      const listAt = listsIn(column);
      const lists = Array.from({ length: batch.length }, (_, row) => listAt(row));
      const unfit = (row: number) => {
        const list = lists[row];
        return list instanceof Unfit ? list.reason : undefined;
      };
      const isUnfit = lists.some((list) => list instanceof Unfit);
      const outcomes = new Map([[field, { vector: column, unfit: isUnfit ? unfit : undefined }]]);
      const kept = keptRows({ page: page.number, batch }, outcomes, on_error ?? onError, runtime) ?? lists.keys();

      const [rows, elements, positions]: [number[], Value[], Value[]] = [[], [], []];
      const put = (row: number, element: string | null, number: bigint | null) => {
        rows.push(row);
        elements.push(element);
        positions.push(number);
      };
      for (const row of kept) {
        const list = itemAt(lists, row);
        if (list instanceof Unfit || (list.length === 0 && empty === 'keep')) put(row, null, null);
        else if (list.length === 0) tally.filtered += 1;
        else {
          tally.expanded += list.length - 1;
          list.forEach((element, index) => put(row, element, BigInt(index + 1)));
        }
      }
      const columns = [[field, new FlatVector(elements)] as const];
      if (position !== undefined) columns.push([position, new FlatVector(positions)]);
      return withBatch(page, takeRows(batch, rows).with(columns));
    });
  },
  remark: (_, tally, arrived) => nothingKept(tally, arrived),
});
