/** A program that exports results of streams: its declarations must be writable, for programs that use it. */
import {
  aggregate,
  cast,
  collections,
  connect,
  defineCollection,
  dedupe,
  derive,
  filter,
  join,
  mask,
  parquet,
  personalMasks,
  rename,
  select,
  typesOf,
  writeTo,
} from 'leadstream';

export const orders = defineCollection('orders', {
  path: '/v2/orders',
  key: ['no'],
  paging: { scheme: 'none' },
  fields: { no: 'text', total: 'decimal', token: { type: 'text', sensitivity: 'secret' } },
});
export const service = connect({ baseUrl: 'https://data.example', auth: { bearer: 'token' }, collections: [orders] });
export const bridges = service.bridges.with({ reveal: ['crm_key'] }).cached({ maxAgeMs: 60_000 });
export const sold = service.leads.pipe(
  filter((lead) => lead.lead_status === 'sold'),
  dedupe(['lead_id']),
  derive({ half: { type: 'decimal', of: (lead) => Number(lead.age) / 2 }, prefix: (lead) => lead.zipcode?.slice(0, 3) }),
  join(bridges, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title', 'crm_key'] }),
  mask(personalMasks(collections.leads, 'redact')),
  rename({ lead_id: 'id' }),
);
export const typed = service.leads.pipe(cast(typesOf(collections.leads)));
export const counts = service.leads.pipe(aggregate(['campaign_id'], { leads: 'count', last: { max: 'timestamp', type: 'timestamp' } }));
export const some = service.collection('orders').with({ fields: ['no', 'total'] });
export const tokens = service
  .collection('orders')
  .with({ reveal: ['token'] })
  .pipe(select(['token']));
export const find = (id: string) => service.leads.find(id);
export const write = () => writeTo(sold, parquet({ path: 'lake/sold' }));
for await (const row of sold) console.log(row.id, row.half, row.prefix, row.bridge_crm_key);
