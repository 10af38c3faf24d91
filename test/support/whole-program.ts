/** A program by a user of the package. Its folder contains nothing else of this repository. */
import { cast, connect, csv, filter, join, parquet, select, writeTo, type Lead, type RowStream } from 'leadstream';
import { verifyTable } from 'leadstream/parquet';
import { loadPipeline, runPipeline } from 'leadstream/pipeline';
import { generate, startService } from 'leadstream/service';
import { standalone } from 'leadstream/testing';

const key = 'key-of-the-test';

/** Serves leads, reads them joined, and writes them from code and with a pipeline file. */
export async function main(): Promise<void> {
  const server = await startService({ source: generate({ leads: 70 }), accounts: [{ restApiKey: key }] });
  const service = connect({ baseUrl: server.url, auth: { rest_api_key: key }, endWaitMs: 1 });
  const leads: RowStream<Lead> = service.leads;
  const joined = leads.pipe(
    filter((lead) => lead.lead_id !== null),
    cast({ lead_id: 'text' }, {}, standalone('cast')),
    select(['lead_id', 'bridge_id']),
    join(service.bridges, { on: { bridge_id: 'id' }, as: 'bridge', select: ['title'] }),
  );
  let rows = 0;
  for await (const { bridge_title: title } of joined) rows += title === null ? 0 : 1;
  const { rows: inCsv } = await writeTo(joined, csv({ path: 'leads.csv' }));
  const { rows: inTable } = await writeTo(joined, parquet({ path: 'lake' }));
  await verifyTable('lake');
  await service.close();

  const text = 'name: links\nfrom: links\nto: [{ ndjson: { path: links.ndjson } }]\n';
  const env = { LEADSTREAM_BASE_URL: server.url, LEADSTREAM_REST_API_KEY: key };
  const { read: inFile } = await runPipeline(await loadPipeline({ text, file: 'links.yaml' }, { env }));
  await server.close();
  console.log(rows, inCsv, inTable, inFile > 0);
}
