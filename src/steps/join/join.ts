import { isObservable, map, pipe, tap, type Observable } from 'rxjs';
import type { z } from 'zod';
import { columnsOf, withheldOf, type Collection, type Registry } from '../../collections/index.js';
import { declaredTypes, GateError, schema, StepError, unknownName as unknownAmong, type Column, type Row } from '../../core/index.js';
import { batchOf, openedStep, pagesOf, preload, RowStream } from '../../flow/index.js';
import type { ColumnsContext, Page, Reading, Side, Step, StepContext } from '../../flow/index.js';
import { checkArguments, usually } from '../../options/index.js';
import { requireFields, unknownName } from '../fields.js';
import { defineFileStep, type PlanContext } from '../step.js';
import { assembly, joinedColumns, matchGate, noMatch, share, takenName, type JoinContext } from './assemble.js';
import { comparedBy, defaultPick, GrowingBuildSide, type Choice } from './build-side.js';
import { lookingUp } from './look-up.js';

/** How two sides of a join are matched. */
export interface JoinOptions<Left extends Row, Right extends Row, As extends string, Field extends keyof Right & string> {
  /** Right field by left field, at least one pair; all pairs must match. */
  readonly on: Readonly<Partial<Record<keyof Left & string, keyof Right & string>>>;
  /** Prefix of the new fields: `<as>_<field>`. */
  readonly as: As;
  /** Right fields to add. */
  readonly select: readonly Field[];
  /** `casefold` trims and folds case on both sides before comparing. Default: texts must be identical. */
  readonly normalize?: 'casefold' | undefined;
  /** Default `error`. */
  readonly pick?: Choice<keyof Right & string> | undefined;
  /** `left` keeps rows without a match, with `null` in their new fields; `inner` drops them. Default `left`. */
  readonly type?: 'left' | 'inner' | undefined;
  /** Right columns that break ties of `pick`, compared as text. Default: the row read first stays. */
  readonly key?: readonly (keyof Right & string)[] | undefined;
  /**
   * Minimum share of rows with a match, like `'95%'`. With fewer, the stream fails after its last row with `GateError` `E_GATE_MATCH`, and `writeTo`
   * publishes nothing. If a later step such as `limit` ends the stream, the rows up to then count. Default: no minimum, and a warning if no row at
   * all has a match.
   */
  readonly minMatch?: `${number}%` | undefined;
}

/** The left row with the chosen right fields. */
export type Joined<Left, Right, As extends string, Field extends keyof Right & string> = Left & {
  readonly [F in Field as `${As}_${F}`]: Right[F] | null;
};

/**
 * Constraints that `JoinOptions` alone cannot express: no value of `on` is `undefined`, and no added field already exists in a row with known fields.
 *
 * @typeParam On The type of `on`. @typeParam Name The names under `select`, whether they are fields or not, so that the compiler can report those
 * that are not.
 */
export type Meeting<Left, Right, On, As extends string, Name extends string> = Named<On> & Addition<Left, Right, As, Name>;

// The compiler infers `On` and `Name` from these types, even where they resolve to `unknown`.
type Named<On> = string extends keyof On
  ? unknown
  : undefined extends On[keyof On]
    ? { readonly on: { readonly [K in keyof On]: NonNullable<On[K]> } }
    : unknown;

type Addition<Left, Right, As extends string, Name extends string> = string extends keyof Left
  ? unknown
  : [Name] extends [keyof Right]
    ? [Extract<`${As}_${Name}`, keyof Left>] extends [never]
      ? unknown
      : { readonly as: never; readonly select: readonly Name[] }
    : unknown;

const taken = schema((z) => {
  const name = z.string().min(1);
  const type = z.enum(declaredTypes).optional();
  return z.strictObject({
    right: z.custom((value) => value instanceof RowStream || isObservable(value), 'must be a stream of rows, like service.bridges'),
    options: z.strictObject({
      on: z
        .record(z.string(), name)
        .refine((on) => Object.keys(on).length > 0, "needs at least one pair of fields, like { bridge_id: 'id' }"),
      as: name,
      select: z.array(name).min(1),
      normalize: z.literal('casefold').optional(),
      pick: z
        .union([z.enum(['first', 'all', 'error']), z.strictObject({ max: name, type }), z.strictObject({ min: name, type })])
        .optional(),
      type: z.enum(['left', 'inner']).optional(),
      key: z.array(name).optional(),
      minMatch: share().optional(),
    }),
  });
});

/**
 * Adds fields of matching rows of another stream, of rows or of pages. That stream is read to the end while the first pages of this one are on their
 * way and wait. Empty or missing keys never match.
 *
 * Memory: for every row of the other side (one per key under `first`, `max` and `min`) the selected and compared fields as bytes, or as two bytes
 * where a field has few values, and at most 40 bytes for its key.
 *
 * If no row at all has a match, a warning (`W_STEP_NO_MATCH`) goes to the watchers of the connection or of `writeTo`, or to
 * the process if there are none. `RowStream.steps` has the numbers.
 *
 * In a pipe after `pages$` it works on its own: each subscription is judged by its own rows once the pages are complete, the warning goes to the
 * process, and a collection on the other side is read with `consistency: 'check'` unless `connect` or `with` says otherwise.
 *
 * @throws {GateError} `E_GATE_MATCH`, from the stream, when fewer rows than `minMatch` have a match.
 * @throws {StepError} `E_STEP_MATCHES` when several rows match under `pick: 'error'`; `E_STEP_CONFIG` for empty `on` or `select`, and when a row
 * already has a field with the name of an added one; `E_STEP_FIELD` when no row of a non-empty page has a compared or selected field.
 * @throws {LeadstreamError} `E_RUN_STALLED`, from the stream, when the other side never ends, once the process has nothing else left to do.
 *
 * @example
 * service.leads.pipe(join(service.bridges, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'] }));
 * // { bridge_id: '4' }  ->  { bridge_id: '4', bridge_title: 'Auto' }
 */
export function join<
  Left extends Row,
  Right extends Row,
  const As extends string,
  const Field extends keyof Right & string,
  const On = JoinOptions<Left, Right, As, Field>['on'],
  const Name extends string = never,
>(
  right: Side<Right>,
  options: JoinOptions<NoInfer<Left>, Right, As, Field> & Meeting<NoInfer<Left>, Right, On, As, Name>,
): Step<Left, Joined<Left, Right, As, Field>> {
  const at = 'join';
  checkArguments(at, taken, { right, options });
  const { on, as, select, pick, key = [] } = options;
  const rightFields = [...Object.values<string | undefined>(on), ...select, ...comparedBy(pick), ...key].filter(
    (field) => field !== undefined,
  );
  const refuse = (name: string) => {
    throw new StepError('E_STEP_CONFIG', `${at}: ${takenName(name)}`);
  };
  const columns = (input: readonly Column[], plan: ColumnsContext) =>
    right instanceof RowStream && right.columns !== undefined
      ? joinedColumns({ on, as, select, pick }, input, { name: 'the other side', columns: right.columns, withheld: right.withheld }, plan)
      : undefined;
  return openedStep({ at, columns }, (reading) => {
    const right$ = pagesOf(right, reading).pipe(requireFields(`${at}, the other side`, rightFields));
    const context = reading.counted(at);
    let failed = false;
    reading.atEnd(() => {
      if (!failed) judge(context, options.minMatch, reading);
    });
    return pipe(
      requireFields<Left>(at, Object.keys(on)),
      joining<Left, Right, As, Field>(right$, options, context, refuse),
      tap({ subscribe: () => (failed = false), error: () => (failed = true) }),
    );
  });
}

/**
 * Joins rows with any fields.
 *
 * @param taken Called with the name of an existing field that an added field would overwrite; if it returns, the added field replaces the existing one.
 */
function joining<Left extends Row, Right extends Row, As extends string, Field extends keyof Right & string>(
  other$: Observable<Page<Right>>,
  options: JoinOptions<NoInfer<Left>, Right, As, Field>,
  context: JoinContext,
  taken: (name: string) => void,
): Step<Left, Joined<Left, Right, As, Field>> {
  const { assembling, build } = assembly(options, context, taken);
  return preload(
    other$,
    () => new GrowingBuildSide(build),
    (growing, page) => growing.add(batchOf(page)),
    (growing) => map(assembling(growing.finish())),
    context,
  );
}

/** @throws {GateError} `E_GATE_MATCH` when too few rows have a match. */
function judge({ at, tally }: StepContext, minMatch: string | undefined, reading: Reading): void {
  const remark = minMatch === undefined ? noMatch(tally, 'the other side', 'minMatch') : undefined;
  if (remark) reading.warn({ ...remark, message: `${at}: ${remark.message}` });
  const violation = minMatch === undefined ? undefined : matchGate(minMatch, tally);
  if (violation) throw new GateError(violation.code, `${at}: ${violation.message}`);
}

const config = schema((z) => {
  const name = z.string().min(1);
  return z.strictObject({
    with: name.describe('The other collection.'),
    on: z.record(z.string(), name).describe('Right field by left field, one or more; empty values never match.'),
    as: z
      .string()
      .regex(/^[a-z][a-z0-9_]*$/, 'a name may contain only a-z, 0-9 and _')
      .optional()
      .describe("Prefix of the new fields: <as>_<field>. Default: the collection's name."),
    select: z.array(name).min(1).optional().describe('Right fields to add. Default: all that are not credential-like.'),
    normalize: z.literal('casefold').optional().describe('Trim and fold case on both sides before comparing.'),
    pick: usually(
      z.union([z.enum(['first', 'all', 'error']), z.strictObject({ max: name }), z.strictObject({ min: name })]),
      defaultPick,
    ).describe('Which of several matches to use: first, all, { max: field }, { min: field } or error.'),
    type: z.enum(['left', 'inner']).default('left').describe('left keeps rows without a match, inner drops them.'),
    lookup: z
      .enum(['preload', 'by_id'])
      .default('preload')
      .describe(
        'preload reads the other collection once; the first pages wait for it. by_id requests the record of each id in the rows once, which pays off for few ids and a large collection; changes in the meantime are not noticed.',
      ),
    reveal: z.array(name).optional().describe('Credential-like fields of the other collection to include.'),
    min_match: share().optional().describe('Minimum share of rows with a match; below it, nothing is published.'),
  });
});

type JoinConfig = z.infer<ReturnType<typeof config>>;

export const joinStep = defineFileStep('join', {
  summary: 'Adds fields of the matching rows of another collection.',
  config,
  examples: [
    { with: 'bridges', on: { bridge_id: 'id' }, as: 'bridge', select: ['title', 'niche'] },
    { with: 'areacodes', on: { zipcode: 'city' }, normalize: 'casefold', pick: { max: 'city_population' }, as: 'area', min_match: '0%' },
    { with: 'bridges', on: { bridge_id: 'id' }, as: 'seller', select: ['title'], lookup: 'by_id' },
  ],
  columns: (join, input, plan) => {
    const other = found(join, plan.collections);
    if (other === undefined) {
      plan.problem(['with'], unknownAmong('collection', join.with, Object.keys(plan.collections)));
      return input;
    }
    const right = columnsOf(other, join.reveal);
    const withheld = withheldOf(other, join.reveal);
    const hasAll = Object.values(join.on).every((field) => right.some(({ name }) => name === field));
    if (Object.keys(join.on).length === 0) plan.problem(['on'], 'needs at least one pair of fields');
    if (join.lookup === 'by_id') refuseLookup(join, other, hasAll, plan);
    if (hasAll) warnOfSeveral(join, other, plan);
    join.reveal?.forEach((field, index) => {
      if (!Object.hasOwn(other.fields, field)) {
        plan.problem(['reveal', index], unknownName('field', field, Object.keys(other.fields), { withheld }));
      }
    });
    const { on, as = join.with, select, pick } = join;
    return joinedColumns({ on, as, select, pick }, input, { name: other.name, columns: right, withheld }, plan);
  },
  reads: ({ lookup, with: other }) => (lookup === 'by_id' ? undefined : other),
  open: (config, runtime) => {
    const collection = found(config, runtime.collections);
    if (!collection) throw new Error(`no collection ${config.with}, though names are checked before`);
    const right = columnsOf(collection, config.reveal);
    const meeting = {
      on: config.on,
      as: config.as ?? config.with,
      select: config.select ?? right.map(({ name }) => name),
      normalize: config.normalize,
      pick: typedPick(config.pick, right),
      type: config.type,
      key: collection.key,
    };
    const reveal = config.reveal ?? [];
    const [[left, id] = []] = Object.entries(config.on);
    if (config.lookup === 'by_id' && left !== undefined && id !== undefined)
      return lookingUp(runtime.lookup(collection, reveal), { ...meeting, left, id }, runtime);
    // A field of that name missing from the plan is one that the service returns undeclared: it is left out.
    return joining(runtime.read(collection, reveal), meeting, runtime, () => {});
  },
  gate: ({ min_match }, tally) => (min_match === undefined ? undefined : { gate: 'min_match', violation: matchGate(min_match, tally) }),
  remark: ({ with: other, min_match }, tally) => (min_match === undefined ? noMatch(tally, other, 'min_match') : undefined),
});

function found({ with: name }: JoinConfig, collections: Registry): Collection | undefined {
  return Object.hasOwn(collections, name) ? collections[name] : undefined;
}

/**
 * Refuses `lookup: by_id` if single records have no path, or if it would compare something other than the id.
 *
 * @param hasAll Whether the other collection has all compared fields; missing ones have already been reported.
 */
function refuseLookup({ on, with: name, normalize }: JoinConfig, { id, served }: Collection, hasAll: boolean, plan: PlanContext): void {
  const fields = Object.values(on);
  if (served) {
    plan.problem(['lookup'], `the path of single records of ${name}, a collection of your own, is unknown; use lookup: preload`);
  } else if (fields.length !== 1 || (hasAll && fields[0] !== id)) {
    plan.problem(
      ['on'],
      `lookup: by_id takes one pair, whose right field is the id of ${name}, like { field: ${id} }; otherwise use lookup: preload`,
    );
  }
  if (normalize !== undefined)
    plan.problem(
      ['normalize'],
      'with lookup: by_id the service compares values as they are; derive the field as the service has it, or use lookup: preload',
    );
}

/** Warns about a join that allows only one match when nothing guarantees that there is only one. */
function warnOfSeveral({ on, pick, with: name }: JoinConfig, { key }: Collection, plan: PlanContext): void {
  const pairs = Object.values(on);
  if (pick !== undefined || pairs.length === 0 || key.every((column) => pairs.includes(column))) return;
  plan.warn(['on'], {
    code: 'W_SPEC_MATCHES',
    message: `${pairs.join(' + ')} is not a key of ${name}, so several rows may match, and then the run fails; its key is ${key.join(' + ')}. Add what is missing, or choose a row with pick`,
  });
}

/** Adds the type by which the picked field is compared: its declared one. */
function typedPick(pick: JoinConfig['pick'], right: readonly Column[]): Choice | undefined {
  if (typeof pick !== 'object') return pick;
  const column = right.find(({ name }) => comparedBy(pick).includes(name));
  return column ? { ...pick, type: column.type } : pick;
}
