/** Types of steps in a chain; `tsc --noEmit` is the test. */
import { expectTypeOf } from 'expect-type';
import type { Observable } from 'rxjs';
import {
  aggregate,
  cast,
  dedupe,
  derive,
  explode,
  filter,
  join,
  limit,
  collections,
  mapRows,
  mask,
  personalMasks,
  sample,
  rename,
  select,
  sort,
  sql,
  typesOf,
  zipCity,
  zipState,
  type Bridge,
  type Casted,
  type Joined,
  type JoinOptions,
  type Lead,
  type Page,
  type Renamed,
  type Row,
  type RowStream,
  type Service,
  type Step,
  type TypedRowOf,
  type User,
} from '../../src/index.js';

declare const service: Service;
type RowOf<S> = S extends Observable<Page<infer R>> ? R : never;
const leads$ = service.leads.pages$;
const bridges$ = service.bridges.pages$;
const users$ = service.users.pages$;

// select narrows
expectTypeOf(users$.pipe(select(['uid', 'email']))).toEqualTypeOf<Observable<Page<Pick<User, 'uid' | 'email'>>>>();
// @ts-expect-error A field that users do not have.
users$.pipe(select(['uid', 'emial']));

// dedupe keeps the type
expectTypeOf(leads$.pipe(dedupe(['lead_id']))).toEqualTypeOf<Observable<Page<Lead>>>();
// @ts-expect-error A field that leads do not have.
leads$.pipe(dedupe(['leadid']));

// @ts-expect-error There is one way to normalize.
leads$.pipe(dedupe(['email'], { normalize: 'lower' }));

// sample and explode keep the type and know the fields
expectTypeOf(leads$.pipe(sample({ percent: 1, by: ['lead_id'] }))).toEqualTypeOf<Observable<Page<Lead>>>();
// @ts-expect-error A field that leads do not have.
leads$.pipe(sample({ percent: 1, by: ['leadid'] }));
expectTypeOf(leads$.pipe(explode('meta', { separator: ',' }))).toEqualTypeOf<Observable<Page<Lead>>>();
// @ts-expect-error A field that leads do not have.
leads$.pipe(explode('metadata'));

// limit keeps the type
expectTypeOf(leads$.pipe(limit(100))).toEqualTypeOf<Observable<Page<Lead>>>();

// personalMasks has fields of the collection only
leads$.pipe(mask({ ...personalMasks(collections.leads), uid: 'null' }));

// @ts-expect-error A count is a number.
leads$.pipe(limit('100'));
// @ts-expect-error There is no such mask.
personalMasks(collections.leads, 'hide');

// sort keeps the type and knows the fields
expectTypeOf(leads$.pipe(sort([{ field: 'timestamp', type: 'timestamp', descending: true }]))).toEqualTypeOf<Observable<Page<Lead>>>();
// @ts-expect-error A field that leads do not have.
leads$.pipe(sort([{ field: 'created' }]));

// filter keeps the type and knows the row
expectTypeOf(leads$.pipe(filter((lead) => lead.lead_status === 'new'))).toEqualTypeOf<Observable<Page<Lead>>>();
// @ts-expect-error A field that leads do not have.
leads$.pipe(filter((lead) => lead.status === 'new'));
// a type guard narrows
const known$ = leads$.pipe(filter((lead): lead is Lead & { readonly zipcode: string } => lead.zipcode !== null));
expectTypeOf<RowOf<typeof known$>['zipcode']>().toEqualTypeOf<string>();
// @ts-expect-error A condition is true or false.
leads$.pipe(filter((lead) => lead.lead_status));

// derive adds, and knows the row
const derived$ = leads$.pipe(derive({ zip_prefix: (lead) => lead.zipcode?.slice(0, 3), nothing: () => null }));
expectTypeOf<RowOf<typeof derived$>['zip_prefix']>().toEqualTypeOf<string | null>();
expectTypeOf<RowOf<typeof derived$>['nothing']>().toEqualTypeOf<null>();
expectTypeOf<RowOf<typeof derived$>['lead_id']>().toEqualTypeOf<string | null>();
const scored$ = leads$.pipe(derive({ age: { type: 'integer', of: (lead) => BigInt(lead.age ?? 0) } }));
expectTypeOf<RowOf<typeof scored$>['age']>().toEqualTypeOf<bigint>();
// @ts-expect-error A value of another type than is declared.
leads$.pipe(derive({ age: { type: 'integer', of: (lead) => lead.age } }));
// @ts-expect-error A field that leads do not have.
leads$.pipe(derive({ zip_prefix: (lead) => lead.zip }));
// @ts-expect-error Values are scalars, instants or null.
leads$.pipe(derive({ parts: (lead) => lead.zipcode?.split('-') }));

const placed$ = leads$.pipe(
  derive({
    zip_city: (lead) => zipCity(lead.zipcode),
    zip_state: (lead) => zipState(lead.zipcode),
  }),
);
expectTypeOf<RowOf<typeof placed$>['zip_city' | 'zip_state']>().toEqualTypeOf<string | null>();
// @ts-expect-error A code is a text: a number has lost its zeros.
zipCity(2108);
// @ts-expect-error The same.
zipState(2108);

// join adds `${as}_${field}`, which is null without a match
const joined$ = leads$.pipe(join(bridges$, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title', 'niche'] }));
expectTypeOf(joined$).toEqualTypeOf<Observable<Page<Joined<Lead, Bridge, 'bridge', 'title' | 'niche'>>>>();
declare const joined: Joined<Lead, Bridge, 'bridge', 'title' | 'niche'>;
expectTypeOf(joined.bridge_title).toEqualTypeOf<string | null>();
expectTypeOf(joined.lead_id).toEqualTypeOf<string | null>();
expectTypeOf(joined).not.toHaveProperty('title');
expectTypeOf(joined).not.toHaveProperty('bridge_method');
// @ts-expect-error A field that bridges do not have.
leads$.pipe(join(bridges$, { on: { bridge_id: 'id' }, as: 'bridge', select: ['titel'] }));
// @ts-expect-error A right field of `on` that bridges do not have.
leads$.pipe(join(bridges$, { on: { bridge_id: 'bridge_id' }, as: 'bridge', select: ['title'] }));
// @ts-expect-error A left field of `on` that leads do not have.
leads$.pipe(join(bridges$, { on: { bridge: 'id' }, as: 'bridge', select: ['title'] }));
// @ts-expect-error A picked field that bridges do not have.
leads$.pipe(join(bridges$, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'], pick: { max: 'hourly' } }));
leads$.pipe(join(bridges$, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'], pick: { max: 'maxhourly', type: 'integer' } }));
// @ts-expect-error A lead has a bridge_uid of its own.
leads$.pipe(join(bridges$, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title', 'uid'] }));
leads$.pipe(join(bridges$, { on: { bridge_id: 'id' }, as: 'b', select: ['title', 'uid'] }));
const titled$ = leads$.pipe(join(bridges$, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'] }));
// @ts-expect-error The first join has added bridge_title already.
titled$.pipe(join(bridges$, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'] }));
const narrow = service.bridges.with({ fields: ['id', 'title'] });
// @ts-expect-error A lead has a bridge_id of its own, also where all fields of the other side are selected.
leads$.pipe(join(narrow, { on: { bridge_id: 'id' }, as: 'bridge', select: ['id', 'title'] }));
leads$.pipe(join(narrow, { on: { bridge_id: 'id' }, as: 'b', select: ['id', 'title'] }));
leads$.pipe(join(narrow, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'] }));
const titles = ['title'] as const;
leads$.pipe(join(narrow, { on: { bridge_id: 'id' }, as: 'bridge', select: titles }));
declare const some: readonly 'id'[];
// @ts-expect-error It would be bridge_id, however many of them there are.
leads$.pipe(join(narrow, { on: { bridge_id: 'id' }, as: 'bridge', select: some }));
leads$.pipe(join(narrow, { on: { bridge_id: 'id' }, as: 'b', select: some }));
// Of what nobody selects, only the wrong name is refused.
leads$.pipe(
  join(narrow, {
    on: { bridge_id: 'id' },
    as: 'bridge',
    // @ts-expect-error A field that the narrow side does not have.
    select: ['niche'],
  }),
);
declare const options: JoinOptions<Lead, Bridge, 'b', 'title'>;
leads$.pipe(join(bridges$, options));
declare const field: 'id' | 'title';
leads$.pipe(join(narrow, { on: { bridge_id: field }, as: 'b', select: ['title'] }));
declare const maybe: 'id' | undefined;
// @ts-expect-error What is compared has a name.
leads$.pipe(join(narrow, { on: { bridge_id: maybe }, as: 'b', select: ['title'] }));
// @ts-expect-error Both, and one of them may have none.
leads$.pipe(join(narrow, { on: { bridge_id: 'id', campaign_name: maybe }, as: 'b', select: ['title'] }));
// @ts-expect-error Both have to be fields of leads.
leads$.pipe(join(narrow, { on: { bridge_id: 'id', campaign: 'title' }, as: 'b', select: ['title'] }));
// Of rows whose fields are open, only the run can tell.
leads$.pipe(
  mapRows((lead): Row => lead),
  join(bridges$, { on: { bridge_id: 'id' }, as: 'bridge', select: ['uid'] }),
);
// An option that is handed on may be undefined, and is then as good as left out.
leads$.pipe(join(bridges$, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'], pick: undefined, type: undefined }));
// @ts-expect-error One that has no default is never undefined.
leads$.pipe(join(bridges$, { on: { bridge_id: 'id' }, as: 'bridge', select: undefined }));
// @ts-expect-error There is no such way to pick.
leads$.pipe(join(bridges$, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'], pick: 'last' }));

// rename changes keys and keeps values
const renamed$ = users$.pipe(rename({ uid: 'user_id' }));
expectTypeOf(renamed$).toEqualTypeOf<Observable<Page<Renamed<User, { readonly uid: 'user_id' }>>>>();
expectTypeOf<keyof Renamed<User, { readonly uid: 'user_id' }>>().toEqualTypeOf<'user_id' | 'email' | 'affid'>();
expectTypeOf<keyof Renamed<User, { readonly uid: 'affid'; readonly affid: 'uid' }>>().toEqualTypeOf<'uid' | 'email' | 'affid'>();
// @ts-expect-error A field that users do not have.
users$.pipe(rename({ id: 'user_id' }));

// cast gives the fields their types, and keeps the others
const cast$ = leads$.pipe(cast({ age: 'integer', yearmonthday: 'date' }, { onError: 'null' }));
expectTypeOf<RowOf<typeof cast$>['age']>().toEqualTypeOf<bigint | null>();
expectTypeOf<RowOf<typeof cast$>['yearmonthday']>().toEqualTypeOf<Date | null>();
expectTypeOf<RowOf<typeof cast$>['zipcode']>().toEqualTypeOf<string | null>();
expectTypeOf<Casted<{ a: string; b: number; c: string | null }, { a: 'flag'; b: 'integer'; c: 'text' }>>().toEqualTypeOf<{
  readonly a: boolean | null;
  readonly b: number;
  readonly c: string | null;
}>();
const typed = service.leads.pipe(cast(typesOf(collections.leads)));
expectTypeOf(typed).toEqualTypeOf<RowStream<TypedRowOf<typeof collections.leads>>>();
expectTypeOf(typesOf(collections.bridges, ['crm_key'])).toHaveProperty('crm_key');
expectTypeOf(typesOf(collections.bridges)).not.toHaveProperty('crm_key');
// @ts-expect-error A field that leads do not have after a cast either.
cast$.pipe(select(['nope']));
// @ts-expect-error One of two fields that leads do not have.
leads$.pipe(cast({ age: 'integer', years: 'integer' }));
expectTypeOf(cast<Row>({ age: 'integer' })).toExtend<Step>();
// @ts-expect-error A field that leads do not have.
leads$.pipe(cast({ years: 'integer' }));
// @ts-expect-error There is no such type.
leads$.pipe(cast({ age: 'number' }));
// @ts-expect-error There is no such way to handle errors.
leads$.pipe(cast({ age: 'integer' }, { onError: 'skip' }));

// mask leaves what is not dropped, with the values of its masks
const masked$ = users$.pipe(mask({ email: 'drop', affid: 'null', uid: 'hmac' }, { hmacKey: 'k' }));
expectTypeOf<RowOf<typeof masked$>>().toEqualTypeOf<{ readonly uid: string | null; readonly affid: null }>();
const personal$ = leads$.pipe(mask(personalMasks(collections.leads)));
expectTypeOf<RowOf<typeof personal$>>().not.toHaveProperty('email');
expectTypeOf<RowOf<typeof personal$>>().not.toHaveProperty('age');
expectTypeOf<RowOf<typeof personal$>>().toHaveProperty('lead_id');
const digested$ = leads$.pipe(mask(personalMasks(collections.leads, 'hmac'), { hmacKey: 'k' }));
expectTypeOf<RowOf<typeof digested$>['email']>().toEqualTypeOf<string | null>();
// @ts-expect-error A field that was dropped.
masked$.pipe(select(['email']));
// @ts-expect-error A field that leads do not have.
leads$.pipe(mask({ sin: 'drop' }));
leads$.pipe(mask({ email: 'hmac' }, { hmacKey: process.env.LEADSTREAM_HMAC_KEY }));
// @ts-expect-error There is no such mask.
leads$.pipe(mask({ email: 'hash' }));

// aggregate gives the fields of its groups and its results, as their types
const groups$ = leads$.pipe(
  aggregate(['campaign_id', { field: 'yearmonthday', type: 'date' }], {
    leads: 'count',
    sold: { count: (lead) => lead.lead_status === 'sold' },
    emails: { countDistinct: 'email' },
    ages: { sum: 'age', type: 'integer' },
    mean: { avg: 'age', type: 'integer' },
    first: { min: 'timestamp', type: 'timestamp' },
    word: { max: 'campaign_name' },
  }),
);
expectTypeOf<RowOf<typeof groups$>['campaign_id']>().toEqualTypeOf<string | null>();
expectTypeOf<RowOf<typeof groups$>['yearmonthday']>().toEqualTypeOf<Date | null>();
expectTypeOf<RowOf<typeof groups$>['leads']>().toEqualTypeOf<bigint>();
expectTypeOf<RowOf<typeof groups$>['sold']>().toEqualTypeOf<bigint>();
expectTypeOf<RowOf<typeof groups$>['emails']>().toEqualTypeOf<bigint>();
expectTypeOf<RowOf<typeof groups$>['ages']>().toEqualTypeOf<bigint | null>();
expectTypeOf<RowOf<typeof groups$>['mean']>().toEqualTypeOf<number | null>();
expectTypeOf<RowOf<typeof groups$>['first']>().toEqualTypeOf<Date | null>();
expectTypeOf<RowOf<typeof groups$>['word']>().toEqualTypeOf<string | null>();
groups$.pipe(filter((group) => group.leads > 10n));
// @ts-expect-error A field that is gone.
groups$.pipe(select(['email']));
// @ts-expect-error A field that leads do not have.
leads$.pipe(aggregate(['campaign'], { leads: 'count' }));
// @ts-expect-error Another one.
leads$.pipe(aggregate(['campaign_id'], { first: { min: 'time' } }));
// @ts-expect-error A sum of texts.
leads$.pipe(aggregate(['campaign_id'], { all: { sum: 'age' } }));
// @ts-expect-error There is no such function.
leads$.pipe(aggregate(['campaign_id'], { middle: { median: 'age' } }));

// sql gives the rows that its caller names
const counts$ = leads$.pipe(
  sql<{ readonly campaign_id: string | null; readonly leads: bigint | null }>(
    'SELECT campaign_id, count(*) AS leads FROM rows GROUP BY campaign_id',
    {
      columns: { campaign_id: 'text', leads: 'integer' },
    },
  ),
);
expectTypeOf<RowOf<typeof counts$>['leads']>().toEqualTypeOf<bigint | null>();
// @ts-expect-error A column of another type.
leads$.pipe(sql<{ readonly leads: bigint | null }>('SELECT count(*) AS leads FROM rows', { columns: { leads: 'decimal' } }));

// steps compose, each one seeing what the one before it made
leads$.pipe(
  dedupe(['lead_id']),
  derive({ zip_prefix: (lead) => lead.zipcode?.slice(0, 3) ?? null }),
  join(bridges$, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'] }),
  filter((lead) => lead.bridge_title !== null && lead.zip_prefix !== null),
  select(['lead_id', 'bridge_title', 'zip_prefix']),
);

// and the row is still known after a join
leads$.pipe(
  join(bridges$, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'] }),
  // @ts-expect-error A field that the join did not add.
  filter((lead) => lead.bridge_titel !== null),
);

// a step of one's own
expectTypeOf<Step<Lead, User>>().toExtend<(pages$: Observable<Page<Lead>>) => Observable<Page<User>>>();
