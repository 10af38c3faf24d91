import { join } from 'node:path';
import { runPipeline } from '../../../src/run/index.js';
import { duckdb } from '../../support/duckdb.js';
import { publishedManifest } from '../../support/parquet-files.js';
import { lead, pipelineFor, serviceOf } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

const cases: readonly [steps: string, comments: Readonly<Record<string, string>>][] = [
  [
    '',
    {
      lead_accepted: 'LEAD ACCEPTED of leads; flag, plain.',
      email: 'email of leads; text, personal.',
      utm: 'the undeclared UTM; text, plain.',
    },
  ],
  [
    `  - rename: { timestamp: at, email: mail }
  - cast: { types: { at: timestamp } }
  - derive: { domain: 'lower(mail)', zip: 'zip_state(zipcode)' }
  - mask: { mail: hmac, lastname: last4 }
  - explode: { field: tag_string_local, separator: ',', position: nth }
  - join: { with: bridges, on: { bridge_id: id }, as: bridge, select: [title] }
`,
    {
      at: 'timestamp of leads; timestamp, plain.',
      mail: 'email of leads, masked by hmac; text, plain.',
      lastname: 'lastname of leads, masked by last4; text, personal.',
      domain: 'lower(mail); text, personal.',
      zip: 'zip_state(zipcode); text, personal.',
      tag_string_local: 'an element of tag_string_local of leads; text, plain.',
      nth: 'computed; integer, plain.',
      bridge_title: 'title of bridges; text, plain.',
    },
  ],
  [
    `  - aggregate: { by: [campaign_id], compute: { leads: 'count()', newest: 'max(timestamp)' } }
`,
    { campaign_id: 'campaign_id of leads; text, plain.', leads: 'count(); integer, plain.', newest: 'max(timestamp); timestamp, plain.' },
  ],
];

test.each(cases)('files and the manifest tell engineers what each column is, after the steps %j', async (steps, comments) => {
  const folder = await temporaryFolder();
  const rows = [lead(1, { UTM: 'x', bridge_id: '5' })];
  const from = await serviceOf({ leads: rows, bridges: [{ id: '5', title: 'Five' }] });
  const body = `from: leads\n${steps === '' ? '' : `steps:\n${steps}`}to:\n  - parquet: { path: t }\n`;
  const env = { ...from.env, LEADSTREAM_HMAC_KEY: 'a key of sixteen or more' };
  await runPipeline(await pipelineFor({ env }, body, folder));

  const query = `SELECT decode(value) AS value FROM parquet_kv_metadata('${folder}/t/*.parquet') WHERE decode(key) = 'leadstream.comments'`;
  const [found] = await duckdb(query);
  expect(JSON.parse(String(found?.['value']))).toMatchObject(comments);
  const { schema } = (await publishedManifest(join(folder, 't'))) ?? { schema: [] };
  expect(Object.fromEntries(schema.map(({ name, comment }) => [name, comment]))).toMatchObject(comments);
});
