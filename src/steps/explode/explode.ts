import { map } from 'rxjs';
import { repeated, textOf, type Row, type Value } from '../../core/index.js';
import { batchOf, withBatch, type OnError, type Step, type StepContext } from '../../flow/index.js';
import { JsonText, readJson, type JsonItem } from '../../json/index.js';
import { FlatVector, memoOf, Unfit, type RecordBatch } from '../../vector/index.js';
import { keptRows } from '../on-error.js';
import { columnName, requireColumn } from '../fields.js';
import { checkedConfig, defineStep, nothingKept, stepOf } from '../step.js';

/** How a list is written, and what happens to rows. */
export interface ExplodeOptions {
  /** Text between elements. Elements are trimmed, and blank ones are left out. By default the field holds a JSON array. */
  readonly separator?: string | undefined;
  /** Whether a row with an empty list stays, with `null` as the element, or is dropped, as by SQL's `unnest`. Default `keep`. */
  readonly empty?: 'keep' | 'drop' | undefined;
  /** Name of an extra field for the number of the element in its list, a bigint from 1; `null` if the list is empty. */
  readonly position?: string | undefined;
  /** What happens to a row whose field does not hold a list. Default `reject`. */
  readonly onError?: OnError | undefined;
}

/**
 * Turns every element of a list into a row: the field holds the element, and all other fields are repeated. The key no longer identifies a single row.
 *
 * Memory: all rows made from the lists of one page.
 *
 * @throws {StepError} `E_STEP_CONFIG`, synchronously, for invalid arguments; `E_STEP_FIELD` when no row of a non-empty page has the field;
 * `E_STEP_VALUE` for a text that is not a list, under `onError: 'fail'` and without a context that takes rejects.
 *
 * @example
 * service.links.pipe(explode('folders', { separator: ',' }));
 * // { id: '7', folders: 'a, b' }  ->  { id: '7', folders: 'a' }, { id: '7', folders: 'b' }
 */
export function explode<T extends Row>(field: keyof NoInfer<T> & string, options: ExplodeOptions = {}, context?: StepContext): Step<T, T> {
  return stepOf(explodeStep, checkedConfig(explodeStep, { field }, options, context), [field], context);
}

/** Explodes rows with any fields. */
function exploding<T extends Row>(
  field: string,
  { separator, empty = 'keep', position, onError = 'reject' }: ExplodeOptions,
  context: StepContext,
): Step<T, T> {
  const listsIn = memoOf((value) => listOf(value, separator));
  const { tally } = context;

  function fitting(page: number, batch: RecordBatch): readonly number[] {
    const listAt = listsIn(batch.columnOrNulls(field));
    const unfit = (row: number): string | undefined => {
      const list = listAt(row);
      return list instanceof Unfit ? list.reason : undefined;
    };
    const all = Array.from({ length: batch.length }, (_, row) => row);
    if (all.every((row) => unfit(row) === undefined)) return all;
    const outcomes = new Map([[field, { vector: batch.columnOrNulls(field), unfit }]]);
    return keptRows({ page, batch }, outcomes, onError, context) ?? all;
  }

  return map((page) => {
    const batch = batchOf(page);
    const listAt = listsIn(batch.columnOrNulls(field));
    const given: Given = { rows: [], elements: [], positions: [] };
    for (const row of fitting(page.number, batch)) {
      const list = listAt(row);
      const elements = list instanceof Unfit ? [] : list;
      if (elements.length > 0) tally.expanded += elements.length - 1;
      else if (empty === 'drop' && !(list instanceof Unfit)) tally.filtered += 1;
      else put(given, row, null, null);
      elements.forEach((element, index) => put(given, row, element, BigInt(index + 1)));
    }
    const columns = [[field, new FlatVector(given.elements)] as const];
    if (position !== undefined) columns.push([position, new FlatVector(given.positions)]);
    return withBatch<T>(page, takeAll(batch, given.rows).with(columns));
  });
}

/** What leaves the step: for each row its index in the page, the element and its number. */
interface Given {
  readonly rows: number[];
  readonly elements: Value[];
  readonly positions: Value[];
}

function put({ rows, elements, positions }: Given, row: number, element: string | null, position: bigint | null): void {
  rows.push(row);
  elements.push(element);
  positions.push(position);
}

function takeAll(batch: RecordBatch, rows: readonly number[]): RecordBatch {
  const same = rows.length === batch.length && rows.every((row, index) => row === index);
  return same ? batch : batch.take(rows);
}

/**
 * Returns the elements of a list that is stored as text. `null`, an empty text and white space are lists without elements.
 *
 * @param separator Text between elements. Elements are trimmed, and blank ones left out. Without it the text is a JSON array: strings are returned as
 * they are, other values except `null` as their JSON text, in which no number changes.
 */
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

function arrayOf(text: string): readonly (string | null)[] | Unfit {
  // Half a surrogate pair has no encoding in UTF-8.
  if (!text.startsWith('[') || !text.isWellFormed()) return noArray;
  const items = readJson(Buffer.from(text));
  return isList(items) ? items.map(elementOf) : noArray;
}

function isList(items: JsonItem | readonly JsonItem[] | undefined): items is readonly JsonItem[] {
  return Array.isArray(items);
}

function elementOf(item: JsonItem): string | null {
  if (item === null || typeof item === 'string') return item;
  return jsonOf(item);
}

function jsonOf(item: JsonItem): string {
  if (item instanceof JsonText) return item.text;
  if (item === null || typeof item === 'string') return JSON.stringify(item);
  return `{${Object.entries(item)
    .map(([name, value]) => `${JSON.stringify(name)}:${jsonOf(value)}`)
    .join(',')}}`;
}

export const explodeStep = defineStep('explode', {
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
      position: columnName().optional().describe('Name of an extra field for the number of the element, from 1. Default: none.'),
      on_error: z
        .enum(['reject', 'null', 'fail'])
        .optional()
        .describe(
          "What happens to a row whose field does not hold a JSON array; with null the element is null. Default: the pipeline's on_error.",
        ),
    }),
  examples: [{ field: 'meta' }, { field: 'tag_string_local', separator: ',', empty: 'drop', position: 'tag_no' }],
  columns: ({ field, position }, input, plan) => {
    const column = requireColumn(field, input, plan, ['field']);
    if (column?.cast && column.type !== 'text')
      plan.problem(['field'], `field '${field}' is ${column.type} here, not a list; explode it before it is cast`);
    if (position !== undefined && input.some(({ name }) => name === position))
      plan.problem(['position'], `there is already a field '${position}'; choose another name`);
    const exploded = repeated(input).map((each) => (each.name === field ? { ...each, source: undefined } : each));
    if (position === undefined) return exploded;
    return [...exploded, { name: position, original: position, type: 'integer', cast: true, sensitivity: 'plain' }];
  },
  open: ({ on_error, ...config }, runtime) => exploding(config.field, { ...config, onError: on_error ?? runtime.onError }, runtime),
  remark: (_, tally, arrived) => nothingKept(tally, arrived),
});
