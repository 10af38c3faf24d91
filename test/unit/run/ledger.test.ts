import { newConsistency } from '../../../src/core/index.js';
import { pageOf, emptyTally } from '../../../src/flow/index.js';
import { loadPipeline } from '../../../src/plan/index.js';
import { Ledger, rowCountsOf, refuseCounts } from '../../../src/run/ledger.js';
import { createClient } from '../../../src/source/index.js';
import { batchFromRows } from '../../../src/vector/index.js';

test('what is read as the source and as a side, too, counts as the source, in manifests and in what is kept', async () => {
  const text = `name: x
service: { base_url: 'http://127.0.0.1:1', auth: { rest_api_key: '\${KEY}' } }
from: users
steps:
  - join: { with: users, on: { affid: uid }, as: u, select: [email] }
to:
  - ndjson: { path: x }`;
  const pipeline = await loadPipeline({ text, file: 'x.yaml' }, { env: { KEY: 'k-of-the-test' } });
  const client = createClient({ ...pipeline.connection });
  const { collection } = pipeline.plan;
  const ledger = new Ledger(pipeline, client.reader(collection, []), newConsistency());
  const rows = Array.from({ length: 3 }, (_, uid) => ({ uid: String(uid) }));
  ledger.onPage(pageOf(1, batchFromRows(rows), { release: () => {} }));
  const side = {
    at: 'steps[0] join',
    collection: 'users',
    consistency: newConsistency(),
    findings: client.reader(collection, []).findings,
  };
  ledger.sides.push({ ...side, rows: 5 });

  expect(ledger.lists(false).map(({ at, rows: read }) => [at, read])).toEqual([
    ['users', 3],
    ['steps[0] join', 5],
  ]);
  expect(ledger.reads(false)).toEqual({ users: 3 });
  expect(ledger.reads(true)).toEqual({ users: 5 });
});

const read = { read: 10, repaired: 0, duplicates: 0 };

test('row counts of a sink are refused with both sides of the sum when a row is missing', () => {
  const books = rowCountsOf(read, [{ ...emptyTally(), rejected: 2 }], { written: 4, unchanged: 3 });
  expect(refuseCounts('to[0] parquet', books)).toEqual([
    {
      code: 'E_GATE_BOOKS',
      message:
        'to[0] parquet: read 10 + repaired 0 + expanded 0 + groups 0 = 10, but written 4 + filtered 0 + duplicates 0 + beyond the limit 0 + unmatched 0 + rejected 2 + unchanged 3 + grouped 0 = 9',
    },
  ]);
});
