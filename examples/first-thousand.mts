/**
 * Embeds leadstream: prints the first 1,000 sold leads with their bridge, then stops.
 *
 *   npm install leadstream
 *   LEADSTREAM_BASE_URL=… LEADSTREAM_REST_API_KEY=… npx tsx first-thousand.mts
 *
 * Leaving the loop aborts the requests in flight; the rest of the collection is never requested.
 */
import { connect, connectionFromEnvironment, filter, join, LeadstreamError, select } from 'leadstream';

const connection = connectionFromEnvironment(process.env);
if ('missing' in connection) throw new LeadstreamError('E_USAGE', `set ${connection.missing}`);

const service = connect({ ...connection, limit: 500, concurrency: 4, window: 8 });

const sold = service.leads.pipe(
  filter((lead) => lead.lead_status === 'sold'),
  select(['lead_id', 'bridge_id', 'timestamp']),
  join(service.bridges, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title', 'niche'] }),
);

let count = 0;
for await (const lead of sold) {
  process.stdout.write(`${lead.lead_id}\t${lead.bridge_title ?? ''}\n`);
  if (++count === 1_000) break;
}
process.stderr.write(`${count} leads\n`);
await service.close();
