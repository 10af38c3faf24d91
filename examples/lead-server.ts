/**
 * A server that streams leads with their bridge as NDJSON: `GET /leads`, or `GET /leads?status=sold`.
 *
 *   LEADSTREAM_BASE_URL=… LEADSTREAM_REST_API_KEY=… PORT=8080 npx tsx examples/lead-server.ts
 *   curl --fail http://127.0.0.1:8080/leads?status=sold
 *
 * A client sets the pace of its own read: at most `window` pages are in memory for it, and one that leaves ends its requests. What fails before the
 * first row is an answer with a status; what fails later cuts the answer, which every HTTP client reports, so that no list looks complete that
 * is not.
 */
import { pathToFileURL } from 'node:url';
import fastify, { type FastifyInstance } from 'fastify';
import { connect, connectionFromEnvironment, filter, isRetryable, join, LeadstreamError, select, type Service } from 'leadstream';

/** Builds the server; it closes the connection to the service when it is closed. */
export function leadServer(service: Service): FastifyInstance {
  const app = fastify({
    logger: { level: 'error', stream: process.stderr },
    // The answer to HEAD would be a list that is read and thrown away.
    exposeHeadRoutes: false,
    // A parameter with a typing error is refused instead of dropped, which would mean all leads.
    ajv: { customOptions: { removeAdditional: false } },
  });
  const querystring = { type: 'object', properties: { status: { type: 'string', minLength: 1 } }, additionalProperties: false };
  // Read once in ten minutes, for all requests.
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
    // The code is for everybody, the message for those who may see the log.
    return reply
      .code(isRetryable(error) ? 503 : 502)
      .type('application/json')
      .send({ code: error.code });
  });
  // Streams that are under way end at once, and the server with them.
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
