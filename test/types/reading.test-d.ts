/** Types of reading; `tsc --noEmit` is the test. */
import { expectTypeOf } from 'expect-type';
import type { Observable } from 'rxjs';
import {
  columnsOf,
  collections,
  connect,
  defineCollection,
  type AreaCode,
  type Bridge,
  type CollectionName,
  type Column,
  type ConnectOptions,
  type Credentials,
  type Lead,
  type Link,
  type Page,
  type Row,
  type Rows,
  type Service,
  type TypedRowOf,
  type User,
} from '../../src/index.js';

declare const service: Service;

// connect: one stream per collection, pages of rows of text
expectTypeOf(connect({ baseUrl: 'https://data.example', auth: { rest_api_key: 'key' } })).toEqualTypeOf<Service>();
expectTypeOf(service.leads$).toEqualTypeOf<Observable<Page<Lead>>>();
expectTypeOf(service.bridges$).toEqualTypeOf<Observable<Page<Bridge>>>();
expectTypeOf(service.areacodes$).toEqualTypeOf<Observable<Page<AreaCode>>>();
expectTypeOf(service.links$).toEqualTypeOf<Observable<Page<Link>>>();
expectTypeOf(service.users$).toEqualTypeOf<Observable<Page<User>>>();
expectTypeOf(service.pages('links')).toEqualTypeOf<Observable<Page<Link>>>();
expectTypeOf(service.rows('users')).toEqualTypeOf<Observable<User>>();
expectTypeOf(service.find('areacodes', '212')).toEqualTypeOf<Observable<readonly AreaCode[]>>();
service.pages('bridges', { reveal: ['crm_key'] });
// @ts-expect-error There are five collections.
service.pages('lead');
// @ts-expect-error A single read needs an identifier.
service.find('leads');

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
expectTypeOf(shop.rows('orders')).toEqualTypeOf<Observable<{ readonly no: string | null; readonly total: string | null }>>();
expectTypeOf(shop.rows('users')).toEqualTypeOf<Observable<User>>();
expectTypeOf<TypedRowOf<typeof orders>>().toEqualTypeOf<{ readonly no: string | null; readonly total: number | null }>();
// @ts-expect-error Nobody has declared it.
shop.rows('invoices');
// @ts-expect-error Without saying so a service has no such collection.
service.rows('orders');
// @ts-expect-error The key is no field.
defineCollection('cities', { path: '/c', key: ['id'], paging: { scheme: 'none' }, fields: { name: 'text' } });
// @ts-expect-error A cursor needs its parameter.
defineCollection('cities', { path: '/c', key: ['id'], paging: { scheme: 'cursor', next: '/next' }, fields: { id: 'text' } });
// @ts-expect-error There is no such type.
defineCollection('cities', { path: '/c', key: ['id'], paging: { scheme: 'none' }, fields: { id: 'string' } });
// @ts-expect-error The type is missing.
defineCollection('cities', { path: '/c', key: ['id'], paging: { scheme: 'none' }, fields: { id: { at: '/id' } } });
expectTypeOf<{ header: { name: string; value: string } }>().toExtend<Credentials>();

// rows: text or null in every column, read-only
expectTypeOf<Lead['lead_accepted']>().toEqualTypeOf<string | null>();
expectTypeOf<Lead['age']>().toEqualTypeOf<string | null>();
expectTypeOf<User>().toEqualTypeOf<{ readonly uid: string | null; readonly email: string | null; readonly affid: string | null }>();
expectTypeOf<keyof Rows>().toEqualTypeOf<CollectionName>();
expectTypeOf<Lead>().toExtend<Row>();
expectTypeOf<Bridge>().toHaveProperty('crm_key');
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
