/**
 * A server that streams leads with their bridge as NDJSON: `GET /leads`, or `GET /leads?status=sold`.
 *
 *   npm install leadstream fastify
 *   LEADSTREAM_BASE_URL=… LEADSTREAM_REST_API_KEY=… PORT=8080 npx tsx lead-server.mts
 *   curl --fail http://127.0.0.1:8080/leads?status=sold
 *
 * Each client sets the pace of its own read (back pressure): at most `window` pages are in memory for it, and its requests end when it disconnects. A
 * failure before the first row is an answer with an error status. A later failure cuts the answer off, which every HTTP client reports, so an
 * incomplete list never looks complete.
 */
import { pathToFileURL } from 'node:url';
import fastify, { type FastifyInstance } from 'fastify';
import { connect, connectionFromEnvironment, filter, join, LeadstreamError, select, type Service } from 'leadstream';

/** Builds the server. Closing it closes the connection to the service. */
export function leadServer(service: Service): FastifyInstance {
  const app = fastify({
    logger: { level: 'error', stream: process.stderr },
    // A HEAD route would read a whole list and discard it.
    exposeHeadRoutes: false,
    // Rejects a misspelt parameter. By default it would be dropped, and the answer would have all leads.
    ajv: { customOptions: { removeAdditional: false } },
  });
  const querystring = { type: 'object', properties: { status: { type: 'string', minLength: 1 } }, additionalProperties: false };
  // Read once every ten minutes, shared by all requests.
  const bridges = service.bridges.with({ fields: ['id', 'title', 'niche'] }).cached({ maxAgeMs: 600_000 });

  app.get<{ Querystring: { status?: string } }>('/leads', { schema: { querystring } }, (request, reply) => {
    const { status } = request.query;
    const leads = service.leads.pipe(
      filter((lead) => status === undefined || lead.lead_status === status),
      select(['lead_id', 'lead_status', 'bridge_id', 'campaign_name', 'timestamp']),
      join(bridges, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title', 'niche'] }),
    );
    return reply.type('application/x-ndjson').send(leads.toReadable('ndjson'));
  });

  app.setErrorHandler((error, request, reply) => {
    if (!(error instanceof LeadstreamError)) return reply.send(error);
    request.log.error(error);
    // Clients get the code; the message goes only to the log.
    return reply
      .code(error.retry ? 503 : 502)
      .type('application/json')
      .send({ code: error.code });
  });
  // Ends the open streams at once, so that the server can close.
  app.addHook('preClose', () => service.close());
  return app;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const connection = connectionFromEnvironment(process.env);
  if ('missing' in connection) throw new LeadstreamError('E_USAGE', `set ${connection.missing}`);
  const app = leadServer(connect({ ...connection, limit: 500, concurrency: 2, window: 4 }));
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void app.close());
  process.stdout.write(`${await app.listen({ port: Number(process.env.PORT ?? 8080) })}\n`);
}
