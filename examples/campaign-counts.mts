/**
 * Counts the leads of each campaign, and shows the progress once a second.
 *
 *   npm install leadstream
 *   LEADSTREAM_BASE_URL=… LEADSTREAM_REST_API_KEY=… npx tsx campaign-counts.mts
 *
 * `scan` and `auditTime` do not wait, so pushed rows need no back pressure. No row and no page is kept.
 */
import { auditTime, defer, lastValueFrom, scan, tap } from 'rxjs';
import { connect, connectionFromEnvironment, LeadstreamError } from 'leadstream';

const connection = connectionFromEnvironment(process.env);
if ('missing' in connection) throw new LeadstreamError('E_USAGE', `set ${connection.missing}`);

await using service = connect({ ...connection, limit: 500 });
const leads = service.leads.with({ fields: ['campaign_id'] });

const counts$ = defer(() =>
  leads.rows$.pipe(
    scan((counts, { campaign_id: id }) => counts.set(id, (counts.get(id) ?? 0) + 1), new Map<string | null, number>()),
    auditTime(1_000), // and the final counts when the list ends
    tap((counts) => process.stderr.write(`${[...counts.values()].reduce((sum, count) => sum + count, 0)} leads\n`)),
  ),
);

const counts = await lastValueFrom(counts$, { defaultValue: new Map<string | null, number>() });
for (const [campaign, count] of [...counts].sort(([, one], [, other]) => other - one)) {
  process.stdout.write(`${campaign ?? '(none)'}\t${count}\n`);
}
