import type { z } from 'zod';
import { columnsOf, withheldOf, type Collection, type Registry } from '../../collections/index.js';
import { schema, unknownName as unknownAmong, type Column } from '../../core/index.js';
import { usually } from '../../options/index.js';
import { defineFileStep, type PlanContext } from '../step.js';
import { matchGate, noMatch, share } from './assemble.js';
import { defaultPick, type Choice } from './build-side.js';
import { joinedColumns } from './columns.js';
import { joining } from './join.js';
import { lookingUp } from './look-up.js';
import { unknownName } from '../fields.js';

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
  holds: ({ lookup, with: other, select, pick }) => {
    if (lookup === 'by_id') return 'the records of the last 10,000 ids';
    const kept = select && [...select, ...(typeof pick === 'object' ? [pickedField(pick)] : [])];
    return `${kept ? [...new Set(kept)].join(', ') : 'all fields'} of all ${other}, and at most 32 bytes per key`;
  },
  open: (config, runtime) => {
    const collection = otherOf(config, runtime.collections);
    const right = columnsOf(collection, config.reveal);
    const meeting = {
      on: config.on,
      as: config.as ?? config.with,
      select: selected(config, right),
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

/** Returns the collection to join. @throws {Error} If it does not exist, which is a bug: names are checked before. */
function otherOf(join: JoinConfig, collections: Registry): Collection {
  const other = found(join, collections);
  if (!other) throw new Error(`no collection ${join.with}`);
  return other;
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

function selected(join: JoinConfig, right: readonly Column[]): readonly string[] {
  return join.select ?? right.map((column) => column.name);
}

function pickedField(pick: { max: string } | { min: string }): string {
  return 'max' in pick ? pick.max : pick.min;
}

/** Adds the type by which the picked field is compared: its declared one. */
function typedPick(pick: JoinConfig['pick'], right: readonly Column[]): Choice | undefined {
  if (typeof pick !== 'object') return pick;
  const column = right.find(({ name }) => name === pickedField(pick));
  return column ? { ...pick, type: column.type } : pick;
}
