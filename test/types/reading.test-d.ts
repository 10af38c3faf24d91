/** Types of reading; `tsc --noEmit` is the test. */
import { expectTypeOf } from 'expect-type';
import type { Observable } from 'rxjs';
import {
  columnsOf,
  collections,
  connect,
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
expectTypeOf(connect).returns.toEqualTypeOf<Service>();
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
