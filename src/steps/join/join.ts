import { isObservable, pipe, map, tap, type Observable } from 'rxjs';
import type { z } from 'zod';
import { columnsOf, partsOfList, withheldOf, type Collection } from '../../collections/index.js';
import { amountOf, compareShare, declaredTypes, GateError, markRepeated, schema, shareIn, unknownName } from '../../core/index.js';
import type { Column, Row } from '../../core/index.js';
import { batchOf, openedStep, pagesOf, preload, RowStream } from '../../flow/index.js';
import type { ColumnsContext, ConfigPath, Page, Side, Step } from '../../flow/index.js';
import { settings, usually } from '../../options/index.js';
import { refuseRepeats, requireColumn, requireFields } from '../fields.js';
import { checkedConfig, builtInStep, type PlanContext, type StepRuntime } from '../step.js';
import { comparedBy, defaultPick, GrowingBuildSide, nameInUse, type Choice } from './build-side.js';
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
   * Minimum share of rows with a match, like `'95%'`. With fewer, the stream fails after its last row, and `writeTo` publishes nothing. If a later step
   * such as `limit` ends the stream, the rows up to then count. Default: no minimum, and a warning if no row at all has a match.
   */
  readonly minMatch?: `${number}%` | undefined;
}

/** The left row with the chosen right fields. */
export type Joined<Left, Right, As extends string, Field extends keyof Right & string> = Left & {
  readonly [F in Field as `${As}_${F}`]: Right[F] | null;
};

/**
 * What `JoinOptions` alone cannot express: no value of `on` is `undefined`, and no added field already exists in a row with known fields.
 *
 * @typeParam Name The names under `select`, whether they are fields or not, so that the compiler can report those that are not.
 */
export type JoinConstraints<Left, Right, On, As extends string, Name extends string> = Named<On> & Addition<Left, Right, As, Name>;

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

/**
 * Adds fields of matching rows of another stream, which is read to the end while the first pages of this one wait. Empty or missing keys never match.
 *
 * Memory: for every row of the other side (one per key under `first`, `max` and `min`) the selected and compared fields as bytes, or as two bytes
 * where a field has few values, and at most 40 bytes for its key.
 *
 * If no row at all has a match, a warning (`W_STEP_NO_MATCH`) goes to the watchers, or to the process if there are none. After `pages$`, each subscription
 * is judged by its own rows, and the warning goes to the process.
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
  options: JoinOptions<NoInfer<Left>, Right, As, Field> & JoinConstraints<NoInfer<Left>, Right, On, As, Name>,
): Step<Left, Joined<Left, Right, As, Field>> {
  const at = 'join';
  const config: JoinConfig = checkedConfig({ name: at, config: configOfProgram }, { with: right }, options);
  const { on, select = [], pick, key = [] } = config;
  const columns = (input: readonly Column[], plan: ColumnsContext) =>
    right instanceof RowStream && right.columns !== undefined ? joinStep.columns(config, input, plan) : undefined;
  return openedStep({ at, columns }, (read) => {
    const context = read.counted(at);
    const other$ = pagesOf(right, read).pipe(
      requireFields<Right>(`${at}, the other side`, [...Object.values(on), ...select, ...comparedBy(pick), ...key]),
    );
    let failed = false;
    read.atEnd(() => {
      if (failed) return;
      const remark = joinStep.remark?.(config, context.tally, 0);
      if (remark) read.warn({ ...remark, message: `${at}: ${remark.message}` });
      const violation = joinStep.gate?.(config, context.tally)?.violation;
      if (violation) throw new GateError(violation.code, `${at}: ${violation.message}`);
    });
    return pipe(
      requireFields(at, Object.keys(on)),
      joinStep.open({ ...config, with: other$ as Observable<unknown> as Observable<Page> }, context),
      tap({ subscribe: () => (failed = false), error: () => (failed = true) }),
    ) as Step<never, unknown> as Step<Left, Joined<Left, Right, As, Field>>;
  });
}

const configOfFile = schema((z) => {
  const name = z.string().min(1);
  return z.strictObject({
    with: name.describe('The other collection.'),
    on: z
      .record(z.string(), name)
      .refine((on) => Object.keys(on).length > 0, 'needs at least one pair of fields')
      .describe('Right field by left field, one or more; empty values never match.'),
    as: z
      .string()
      .regex(/^[a-z][a-z0-9_]*$/, 'a name may contain only a-z, 0-9 and _')
      .optional()
      .describe("Prefix of the new fields: <as>_<field>. Default: the collection's name, without its service."),
    select: z.array(name).min(1).optional().describe('Right fields to add. Default: all but secret ones.'),
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
        'preload reads the other collection once; the first pages wait for it. by_id requests the record of each id in the rows once, which pays off for few ids and a large collection; changes in the meantime are not noticed, and an id that the service refuses (400, 414, 422) is a fault of its row.',
      ),
    reveal: z.array(name).optional().describe('Secret fields of the other collection to include.'),
    on_duplicate_key: settings().onDuplicateKey,
    min_match: z
      .string()
      .regex(/^(?:100|\d{1,2}(?:\.\d+)?)%$/, 'a share is written like 95%')
      .optional()
      .describe('Minimum share of rows with a match; below it, nothing is published.'),
  });
});

/** A program passes the other side itself, any prefix, its own key, and the type by which a field is picked. */
const configOfProgram = schema((z) => {
  const name = z.string().min(1);
  const type = z.enum(declaredTypes).optional();
  const pick = z.union([z.enum(['first', 'all', 'error']), z.strictObject({ max: name, type }), z.strictObject({ min: name, type })]);
  return configOfFile()
    .omit({ lookup: true, reveal: true, on_duplicate_key: true })
    .extend({
      with: z.custom<Side<Row>>(
        (value) => value instanceof RowStream || isObservable(value),
        'must be a stream of rows, like service.bridges',
      ),
      ...{ as: name, select: z.array(name).min(1), pick: pick.optional(), key: z.array(name).optional() },
    });
});

type FileConfig = z.infer<ReturnType<typeof configOfFile>>;

export interface JoinConfig extends Omit<FileConfig, 'with' | 'pick' | 'lookup'> {
  readonly with: string | Side<Row>;
  readonly pick?: Choice | undefined;
  readonly lookup?: FileConfig['lookup'];
  readonly key?: readonly string[] | undefined;
}

export const joinStep = builtInStep('join', {
  summary: 'Adds fields of the matching rows of another collection.',
  config: (): z.ZodType<JoinConfig> => configOfFile(),
  examples: [
    { with: 'bridges', on: { bridge_id: 'id' }, as: 'bridge', select: ['title', 'niche'] },
    { with: 'areacodes', on: { zipcode: 'city' }, normalize: 'casefold', pick: { max: 'city_population' }, as: 'area', min_match: '0%' },
    { with: 'bridges', on: { bridge_id: 'id' }, as: 'seller', select: ['title'], lookup: 'by_id' },
  ],
  columns: (config, input, plan) => {
    const { with: other, on, pick } = config;
    const right = otherSide(config, plan);
    if (right === undefined) {
      plan.problem(['with'], unknownName('collection', typeof other === 'string' ? other : '', Object.keys(plan.collections ?? {})));
      return input;
    }
    const { as = partsOfList(right.name)[1], select = right.columns.map(({ name }) => name) } = config;
    if (right.collection) checkCollection(config, right.collection, right, plan);
    for (const [left, field] of Object.entries(on)) checkPair([left, field], input, right, plan);
    for (const field of comparedBy(pick))
      requireRight(field, right, plan, ['pick', typeof pick === 'object' && 'min' in pick ? 'min' : 'max']);
    refuseRepeats(select, plan, ['select']);
    const added = select.flatMap((field, index): readonly Column[] => {
      const column = requireRight(field, right, plan, config.select ? ['select', index] : []);
      if (column === undefined) return [];
      const [name, original] = [`${as}_${field}`, `${as}_${column.original}`];
      if (input.some((present) => present.name === name)) plan.problem(['as'], nameInUse(name));
      return [{ ...column, name, original, source: undefined }];
    });
    return pick === 'all' ? markRepeated([...input, ...added]) : [...input, ...added];
  },
  reads: ({ lookup, with: other }) => (lookup === 'by_id' || typeof other !== 'string' ? undefined : other),
  open: (config, runtime) => {
    const right = otherSide(config, runtime);
    if (right === undefined) throw new Error('names of collections are checked before');
    const { collection, key } = right;
    const { as = partsOfList(right.name)[1], select = right.columns.map(({ name }) => name), reveal = [], lookup } = config;
    const matching = { ...config, as, select, pick: typedPick(config.pick, right), key };
    if (collection && lookup === 'by_id' && runtime.lookup) return lookingUp(runtime.lookup(collection, reveal), matching, runtime);
    const used = [...new Set([...select, ...Object.values(config.on), ...comparedBy(config.pick), ...(key ?? [])])];
    const other$ = collection ? runtime.read?.(collection, reveal, config.on_duplicate_key, used) : config.with;
    if (!isObservable(other$)) throw new Error('there is no other side to read');
    return preload(
      runtime.at,
      other$,
      () => new GrowingBuildSide(matching),
      (side, page) => side.add(batchOf(page)),
      (side) => map(side.finish(runtime)),
    );
  },
  gate: ({ min_match }, { matched, missed }) => {
    if (min_match === undefined) return undefined;
    const rows = matched + missed;
    const found = rows === 0 ? 100 : (100 * matched) / rows;
    const message = `${(Math.floor(found * 100) / 100).toFixed(2)}% of ${amountOf(rows, 'row')} matched, expected at least ${min_match}`;
    const isLess = compareShare(matched, shareIn(min_match), rows) < 0n;
    return { gate: 'min_match', violation: isLess ? { code: 'E_GATE_MATCH', message } : undefined };
  },
  remark: ({ with: other, min_match }, { matched, missed }) => {
    if (min_match !== undefined || matched > 0 || missed === 0) return undefined;
    const [side, gate] = typeof other === 'string' ? [other, 'min_match'] : ['the other side', 'minMatch'];
    return { code: 'W_STEP_NO_MATCH', message: `none of ${amountOf(missed, 'row')} found a match in ${side}; ${gate} refuses that` };
  },
});

interface OtherSide {
  /** Its name in messages. */
  readonly name: string;
  readonly columns: readonly Column[];
  readonly withheld: readonly string[];
  readonly key: readonly string[] | undefined;
  /** That of a file. */
  readonly collection?: Collection;
}

function otherSide({ with: other, reveal, key }: JoinConfig, { collections = {} }: PlanContext | StepRuntime): OtherSide | undefined {
  if (typeof other !== 'string') {
    const { columns = [], withheld = [] } = other instanceof RowStream ? other : {};
    return { name: 'the other side', columns, withheld, key };
  }
  const collection = Object.hasOwn(collections, other) ? collections[other] : undefined;
  if (!collection) return undefined;
  return { name: other, columns: columnsOf(collection, reveal), withheld: withheldOf(collection, reveal), key: collection.key, collection };
}

/** In a file, the field that decides is compared by its declared type. */
function typedPick(pick: Choice | undefined, { columns, collection }: OtherSide): Choice | undefined {
  const column = columns.find(({ name }) => comparedBy(pick).includes(name));
  return typeof pick === 'object' && collection && column ? { ...pick, type: column.type } : pick;
}

function checkCollection(config: JoinConfig, collection: Collection, { columns, withheld }: OtherSide, plan: PlanContext): void {
  const { on, pick, lookup, normalize, on_duplicate_key: repeats, reveal = [] } = config;
  const { name, id, key, served, fields } = collection;
  const compared = Object.values(on);
  const hasAll = compared.every((field) => columns.some((column) => column.name === field));
  const instead = 'use lookup: preload';
  if (lookup === 'by_id') {
    if (served) plan.problem(['lookup'], `the path of single records of ${name}, a collection of your own, is unknown; ${instead}`);
    else if (compared.length !== 1 || (hasAll && compared[0] !== id))
      plan.problem(
        ['on'],
        `lookup: by_id takes one pair, whose right field is the id of ${name}, like { field: ${id} }; otherwise ${instead}`,
      );
    if (normalize !== undefined) plan.problem(['normalize'], `with lookup: by_id the service compares values as they are; ${instead}`);
    if (repeats !== undefined) plan.problem(['on_duplicate_key'], `lookup: by_id reads no list, in which a key could repeat; ${instead}`);
  }
  for (const [index, field] of reveal.entries())
    if (!Object.hasOwn(fields, field)) plan.problem(['reveal', index], unknownName('field', field, Object.keys(fields), withheld));
  if (!hasAll || pick !== undefined || key.every((column) => compared.includes(column))) return;
  plan.warn?.(['on'], {
    code: 'W_SPEC_MATCHES',
    message: `${compared.join(' + ')} is not a key of ${name}, so several rows may match, and then the run fails; its key is ${key.join(' + ')}. Add what is missing, or choose a row with pick`,
  });
}

function checkPair([left, field]: readonly [string, string], input: readonly Column[], right: OtherSide, plan: ColumnsContext): void {
  const column = requireColumn(left, input, plan, ['on', left], true);
  const [one, other] = [column, requireRight(field, right, plan, ['on', left])].map((each) => (each?.cast ? each.type : 'text'));
  if (column === undefined || one === other) return;
  const remedy = 'join before it is cast, or cast both sides to the same type';
  plan.problem(['on', left], `field '${left}' is ${one} here and never matches ${other}; ${remedy}`, true);
}

function requireRight(name: string, { columns, name: side, withheld, collection }: OtherSide, plan: ColumnsContext, path: ConfigPath) {
  const problem = (at: ConfigPath, message: string) =>
    plan.problem(at, message.replace(`unknown field '${name}'`, `${side} has no field '${name}'`));
  return requireColumn(name, columns, { withheld, problem, collection }, path);
}
