/** Types of reading; `tsc --noEmit` is the test. */
import { expectTypeOf } from 'expect-type';
import type { Readable } from 'node:stream';
import type { Observable } from 'rxjs';
import { columnsOf, collections, connect, defineCollection, extendCollection, typesOf } from '../../src/index.js';
import type {
  AreaCode,
  Bridge,
  Collection,
  CollectionName,
  Column,
  ConnectOptions,
  Consistency,
  Credentials,
  Lead,
  Link,
  Page,
  Row,
  RowOf,
  Rows,
  RowStream,
  Secrets,
  Service,
  TypedRowOf,
  User,
} from '../../src/index.js';

declare const service: Service;
type RowIn<S> = S extends RowStream<infer R> ? R : never;

// connect: one stream of rows per collection, rows of text
expectTypeOf(connect({ baseUrl: 'https://data.example', auth: { rest_api_key: 'key' } })).toEqualTypeOf<Service>();
expectTypeOf(service.leads).toExtend<RowStream<Lead>>();
expectTypeOf(service.bridges).toExtend<RowStream<Bridge>>();
expectTypeOf(service.areacodes).toExtend<RowStream<AreaCode>>();
expectTypeOf(service.links).toExtend<RowStream<Link>>();
expectTypeOf(service.users).toExtend<RowStream<User>>();
expectTypeOf(service.collection('links')).toEqualTypeOf(service.links);
expectTypeOf(service.leads.pages$).toEqualTypeOf<Observable<Page<Lead>>>();
expectTypeOf(service.leads.rows$).toEqualTypeOf<Observable<Lead>>();
expectTypeOf(service.leads.columns).toEqualTypeOf<readonly Column[] | undefined>();
expectTypeOf(service.leads.consistency).toEqualTypeOf<Consistency | undefined>();
expectTypeOf(service.leads[Symbol.asyncIterator]()).toEqualTypeOf<AsyncIterableIterator<Lead, undefined>>();
expectTypeOf(service.leads.toReadable('ndjson')).toEqualTypeOf<Readable>();
// @ts-expect-error There is no such form.
service.leads.toReadable('csv');
// @ts-expect-error There are five collections.
service.collection('lead');

// find: the records of an identifier
expectTypeOf(service.areacodes.find('212')).resolves.toEqualTypeOf<readonly AreaCode[]>();
void service.leads.find('7', { signal: AbortSignal.timeout(1_000) });
// @ts-expect-error It needs one.
void service.leads.find();
// @ts-expect-error What is revealed, `with` says.
void service.bridges.find('7', { reveal: ['crm_key'] });

// with: options of one read; what is withheld is not in the type, and what is not wanted neither
const bridges = service.bridges.with({ reveal: ['crm_key'], consistency: 'prove', signal: undefined });
expectTypeOf<keyof RowIn<typeof bridges>>().toEqualTypeOf<keyof Bridge | 'crm_key'>();
expectTypeOf<Bridge>().not.toHaveProperty('crm_key');
const some = service.leads.with({ fields: ['lead_id', 'zipcode'] });
expectTypeOf<RowIn<typeof some>>().toEqualTypeOf<Pick<Lead, 'lead_id' | 'zipcode'>>();
const revealed = service.bridges.with({ reveal: ['crm_key'], fields: ['id', 'crm_key'] });
expectTypeOf<keyof RowIn<typeof revealed>>().toEqualTypeOf<'id' | 'crm_key'>();
expectTypeOf(service.leads.with({ strict: true, allowUnstable: true }).find('7')).resolves.toEqualTypeOf<readonly Lead[]>();
// @ts-expect-error A field that is no secret.
service.bridges.with({ reveal: ['title'] });
// @ts-expect-error Leads have no secrets.
service.leads.with({ reveal: ['email'] });
// @ts-expect-error A field that leads do not have.
service.leads.with({ fields: ['leadid'] });
// @ts-expect-error A secret that is not revealed.
service.bridges.with({ fields: ['crm_key'] });
// @ts-expect-error There is no such check.
service.leads.with({ consistency: 'checked' });

// credentials: one of two forms
expectTypeOf<{ authorized_uid: string; authorized_rest_api_key: string }>().toExtend<Credentials>();
expectTypeOf<{ rest_api_key: string }>().toExtend<Credentials>();
expectTypeOf<ConnectOptions['auth']>().toEqualTypeOf<Credentials>();
// @ts-expect-error A user id alone opens nothing.
connect({ baseUrl: 'https://data.example', auth: { authorized_uid: '7' } });
// @ts-expect-error Without credentials nothing is read.
connect({ baseUrl: 'https://data.example' });

// collections of one's own: their names and columns are known
const orders = defineCollection('orders', {
  path: '/v2/orders',
  key: ['no'],
  paging: { scheme: 'cursor', next: '/next', param: 'cursor' },
  fields: { no: 'text', total: { type: 'decimal', at: '/amounts/total' } },
});
const shop = connect({ baseUrl: 'https://data.example', auth: { bearer: 'token' }, collections: [orders] });
expectTypeOf(shop.collection('orders')).toExtend<RowStream<{ readonly no: string | null; readonly total: string | null }>>();
expectTypeOf(shop.collection('users').rows$).toEqualTypeOf<Observable<User>>();

expectTypeOf<TypedRowOf<typeof orders>>().toEqualTypeOf<{ readonly no: string | null; readonly total: number | null }>();
// @ts-expect-error Nobody has declared it.
shop.collection('invoices');
// @ts-expect-error Without saying so a service has no such collection.
service.collection('orders');
// @ts-expect-error The key is no field.
defineCollection('cities', { path: '/c', key: ['id'], paging: { scheme: 'none' }, fields: { name: 'text' } });
// @ts-expect-error A cursor needs its parameter.
defineCollection('cities', { path: '/c', key: ['id'], paging: { scheme: 'cursor', next: '/next' }, fields: { id: 'text' } });
// @ts-expect-error There is no such type.
defineCollection('cities', { path: '/c', key: ['id'], paging: { scheme: 'none' }, fields: { id: 'string' } });
// @ts-expect-error The type is missing.
defineCollection('cities', { path: '/c', key: ['id'], paging: { scheme: 'none' }, fields: { id: { at: '/id' } } });
expectTypeOf<{ header_name: string; header_value: string }>().toExtend<Credentials>();

// fields that a service has in addition: of their type, and those of bridges withheld
const scored = extendCollection(collections.leads, { credit_score: { type: 'integer', at: 'Credit Score' } });
const tiered = extendCollection(collections.bridges, { tier: 'integer' });
const added = connect({ baseUrl: 'https://data.example', auth: { bearer: 'token' }, collections: [scored, tiered] });
expectTypeOf(added.leads).toExtend<RowStream<Lead & { readonly credit_score: string | null }>>();
expectTypeOf(added.bridges).not.toExtend<RowStream<{ readonly tier: string | null }>>();
expectTypeOf(added.bridges.with({ reveal: ['tier', 'crm_key'] })).toExtend<RowStream<{ readonly tier: string | null }>>();
expectTypeOf<TypedRowOf<typeof scored>['credit_score']>().toEqualTypeOf<bigint | null>();
// @ts-expect-error The collection has it.
extendCollection(collections.leads, { email: 'text' });
// @ts-expect-error There is no such type.
extendCollection(collections.leads, { credit_score: 'number' });

// rows: text or null in every column, read-only
expectTypeOf<Lead['lead_accepted']>().toEqualTypeOf<string | null>();
expectTypeOf<Lead['age']>().toEqualTypeOf<string | null>();
expectTypeOf<User>().toEqualTypeOf<{ readonly uid: string | null; readonly email: string | null; readonly affid: string | null }>();
expectTypeOf<keyof Rows>().toEqualTypeOf<CollectionName>();
expectTypeOf<Lead>().toExtend<Row>();
expectTypeOf<RowOf<typeof collections.bridges, 'crm_key'>>().toHaveProperty('crm_key');
expectTypeOf<Secrets['bridges']>().toHaveProperty('crm_key');
expectTypeOf<TypedRowOf<typeof collections.bridges>>().not.toHaveProperty('crm_key');
expectTypeOf<Lead>().not.toHaveProperty('PSID');
declare const lead: Lead;
// @ts-expect-error Rows are read-only.
lead.zipcode = '10001';

// typed rows: what `cast` makes of every column
type TypedLead = TypedRowOf<typeof collections.leads>;
expectTypeOf<TypedLead['lead_accepted']>().toEqualTypeOf<boolean | null>();
expectTypeOf<TypedLead['age']>().toEqualTypeOf<bigint | null>();
expectTypeOf<TypedLead['timestamp']>().toEqualTypeOf<Date | null>();
expectTypeOf<TypedLead['yearmonthday']>().toEqualTypeOf<Date | null>();
expectTypeOf<TypedLead['zipcode']>().toEqualTypeOf<string | null>();
expectTypeOf<TypedRowOf<typeof collections.areacodes>['percent_of_area_code_in_city']>().toEqualTypeOf<number | null>();

// columns
expectTypeOf(columnsOf(collections.leads)).toEqualTypeOf<readonly Column[]>();
columnsOf(collections.bridges, ['crm_key']);
declare const collection: Collection;
columnsOf(collection, Object.keys(collection.fields));
// @ts-expect-error A field that bridges do not have.
columnsOf(collections.bridges, ['crm_kye']);
// @ts-expect-error A collection, not its name.
columnsOf('leads');
// @ts-expect-error Leads have no secrets.
typesOf(collections.leads, ['email']);
