/**
 * Embeds leadstream: the first 1,000 sold leads with their bridge, then no more.
 *
 *   LEADSTREAM_BASE_URL=… LEADSTREAM_REST_API_KEY=… npx tsx examples/first-thousand.ts
 *
 * Unsubscribing, here by `take`, aborts the requests in flight; the rest of the collection is never asked for.
 */
import { connect, connectionFromEnvironment, filter, join, LeadstreamError, rows, select } from 'leadstream';
import { count, lastValueFrom, take, tap } from 'rxjs';

const connection = connectionFromEnvironment(process.env);
if ('missing' in connection) throw new LeadstreamError('E_USAGE', `set ${connection.missing}`);

const service = connect({ ...connection, limit: 500, concurrency: 4, window: 8 });

const leads$ = service.leads$.pipe(
  filter((lead) => lead.lead_status === 'sold'),
  select(['lead_id', 'bridge_id', 'timestamp']),
  join(service.bridges$, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title', 'niche'] }),
  rows(),
  take(1_000),
);

const printed = await lastValueFrom(
  leads$.pipe(
    tap((lead) => process.stdout.write(`${lead.lead_id}\t${lead.bridge_title ?? ''}\n`)),
    count(),
  ),
);
process.stderr.write(`${printed} leads\n`);
service.close();
