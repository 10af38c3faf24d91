import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LeadstreamError } from '../../../src/core/errors.js';
import { loadPipeline } from '../../../src/plan/index.js';
import { runPipeline, type RunReport } from '../../../src/run/index.js';
import { generate } from '../../../src/service/index.js';
import type { Misbehaviour } from '../../support/misbehaviour.js';
import { pipelineText, service, type LoggedService } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

/** Three full pages and a short one. */
const leads = 330;
const source = generate({ leads, bridges: 20, links: 70, users: 40, seed: 7 });
const quickly = { 'service.retry.base': '1ms', 'service.retry.cap': '5ms' };
/** For answers that never come; one that does come may take longer than this. */
const impatient = { 'service.timeout': '300ms' };

interface GateInput {
  readonly from?: 'leads' | 'links' | 'users';
  readonly service: Partial<Misbehaviour>;
  readonly set?: Readonly<Record<string, string>>;
  readonly spec?: string;
}

/** Runs a pipeline against a service that is odd in one way; gives the keys that came out, or the error. */
async function read({ from = 'leads', service: odd, set = {}, spec = '' }: GateInput) {
  const [server, folder] = [await service(source, odd), await temporaryFolder()];
  const text = pipelineText(`from: ${from}\n${spec}\nto:\n  - ndjson: { path: rows.ndjson }`);
  try {
    const report = await runPipeline(
      await loadPipeline({ text, file: 'p.yaml' }, { env: server.env, baseDir: folder, set: { ...quickly, ...set } }),
    );
    const lines = (await readFile(join(folder, 'rows.ndjson'), 'utf8')).trim().split('\n').filter(Boolean);
    const rows = lines.map((line): Record<string, unknown> => JSON.parse(line));
    return { report, keys: rows.map(({ lead_id, id, uid }) => String(lead_id ?? id ?? uid)), server, error: undefined };
  } catch (error) {
    if (!(error instanceof LeadstreamError)) throw error;
    return { report: undefined, keys: [], server, error };
  }
}

function keysOf(collection: 'leads' | 'links' | 'users'): readonly string[] {
  const table = source[collection];
  return Array.from({ length: table.count }, (_, index) => {
    const row: Record<string, string> = JSON.parse(table.row(index));
    return row[collection === 'leads' ? 'lead_id' : collection === 'links' ? 'id' : 'uid'] ?? '';
  });
}

const warnings = (report: RunReport | undefined) => report?.warnings.map(({ code }) => code);
const asked = (server: LoggedService, page: number) =>
  server.requests.filter((request) => request === `leads?page=${page}&limit=100`).length;

describe('every row is read exactly', () => {
  const exact: readonly (readonly [what: string, odd: GateInput, warned?: readonly string[]])[] = [
    ['a first page of 0, when told', { service: { quirks: { 'first-page': 0 } }, set: { 'service.first_page': '0' } }],
    ['a smaller cap', { service: { quirks: { cap: 30 } } }, ['W_SOURCE_CAP']],
    ['a last page that is repeated for ever', { service: { quirks: { 'repeat-last': true } } }, ['W_SOURCE_REPEATS']],
    [
      'a last page repeated in every pass',
      { service: { quirks: { 'repeat-last': true } }, spec: 'consistency: prove' },
      ['W_SOURCE_REPEATS'],
    ],
    ['one empty answer at the head', { service: { quirks: { 'empty-page': '1:once' } } }],
    ['links that are paged', { from: 'links', service: { quirks: { 'paged-links': true } } }, ['W_SOURCE_PAGED']],
    ['a page before the first that answers nonsense', { service: { faults: ['html@page=0'] } }],
    ['a page before the first that fails', { service: { faults: ['500@page=0'] } }, ['W_SOURCE_UNCHECKED']],
    ['missing fields', { service: { quirks: { 'missing-fields': 0.2 } } }],
    ['fields that nobody declared', { service: { quirks: { 'unknown-fields': 0.2 } } }, ['W_SOURCE_FIELD_NEW']],
    ['values that are no strings', { service: { quirks: { 'non-strings': 0.2 } } }],
    ['a key __proto__', { service: { quirks: { 'proto-key': 0.2 } } }, ['W_SOURCE_FIELD_NEW']],
    ['values of 1 MB', { service: { quirks: { 'huge-values': 0.01 } } }],
    ['500, twice for each page', { service: { faults: ['500@times=2,purpose=page'] } }],
    ['503 at random', { service: { faults: ['503@rate=0.2'] } }],
    ['429 with seconds to wait', { service: { faults: ['429=0@requests=3-6'] } }],
    ['an answer that never comes, once', { service: { faults: ['hang@page=2,times=1'] }, set: impatient }],
    ['a body that stalls, once', { service: { faults: ['stall@page=2,times=1'] }, set: impatient }],
    ['a body that drips', { service: { faults: ['drip=400000@page=2,times=1'] } }],
    ['a body cut by the end of the connection', { service: { faults: ['cut=close@page=2,times=1'] } }],
    ['HTML with 200, once', { service: { faults: ['html@page=2,times=1'] } }],
    ['[] in place of a page, once', { service: { faults: ['empty-list@page=2,times=1,purpose=page'] } }],
    ['gzip', { service: { faults: ['gzip'] } }],
  ];

  test.each(exact)('in spite of %s', async (_what, odd, expected = []) => {
    const { keys, report, error } = await read(odd);
    expect(error).toBeUndefined();
    expect(keys).toEqual(keysOf(odd.from ?? 'leads'));
    expect(warnings(report)).toEqual(expected);
  });

  test('in spite of an order that changes from request to request, under prove', async () => {
    const { keys, report } = await read({ service: { quirks: { 'unstable-order': 3 } }, spec: 'consistency: prove' });
    expect([...keys].sort()).toEqual([...keysOf('leads')].sort());
    expect(report?.consistency.outcome).toBe('proven');
  });

  test('and each page is asked for once, the end twice, and alone a page that failed', async () => {
    const { server } = await read({ service: {} });
    expect([1, 2, 3, 4].map((page) => asked(server, page))).toEqual([1, 1, 1, 1]);
    expect(asked(server, 5)).toBe(2);
    const { server: failing } = await read({ service: { faults: ['500@page=2,times=2'] } });
    expect([1, 2, 3, 4].map((page) => asked(failing, page))).toEqual([1, 3, 1, 1]);
  });
});

const refused: readonly (readonly [string, GateInput, string, number])[] = [
  ['a first page of 0, untold', { service: { quirks: { 'first-page': 0 } } }, 'E_SOURCE_FIRST_PAGE', 69],
  ['page numbers that are ignored', { service: { quirks: { 'ignore-page': true } } }, 'E_SOURCE_PAGE_IGNORED', 69],
  ['rows after an empty page', { service: { quirks: { 'empty-page': 2 } } }, 'E_SOURCE_ORDER', 69],
  [
    'paged links of which a page is missing',
    { from: 'links', service: { quirks: { 'paged-links': true }, faults: ['500@page=1,collection=links,purpose=page'] } },
    'E_SOURCE_UNAVAILABLE',
    69,
  ],
  ['a limit that is refused', { service: { quirks: { cap: 30, 'refuse-over-cap': true } } }, 'E_SOURCE_REFUSED', 69],
  ['a smaller cap, when strict', { service: { quirks: { cap: 30 } }, set: { 'service.strict': 'true' } }, 'E_GATE_STRICT', 65],
  ['repeats, when strict', { service: { quirks: { 'repeat-last': true } }, set: { 'service.strict': 'true' } }, 'E_GATE_STRICT', 65],
  ['more pages than allowed', { service: {}, set: { 'service.max_pages': '3' } }, 'E_SOURCE_MAX_PAGES', 69],
  ['a deadline that has passed', { service: { faults: ['delay=300'] }, set: { 'service.deadline': '500ms' } }, 'E_RUN_DEADLINE', 69],
  ['500 for ever', { service: { faults: ['500@page=2'] } }, 'E_SOURCE_UNAVAILABLE', 69],
  ['503 with an hour to wait', { service: { faults: ['503=3600@page=2'] } }, 'E_SOURCE_UNAVAILABLE', 69],
  ['silence', { service: { faults: ['hang@page=2'] }, set: { ...impatient, 'service.retry.attempts': '2' } }, 'E_SOURCE_UNAVAILABLE', 69],
  ['HTML for ever', { service: { faults: ['html@page=2'] } }, 'E_SOURCE_ANSWER', 69],
  ['a gzip bomb', { service: { faults: ['gzip-bomb=200@page=2'] } }, 'E_SOURCE_LIMIT', 69],
  ['404 for a page, behind which there are rows', { service: { faults: ['404@page=2'] } }, 'E_SOURCE_ORDER', 69],
];

test.each(refused)('nothing is published, and the failure has a name, after %s', async (_what, odd, code, exit) => {
  const { error } = await read(odd);
  expect({ code: error?.code, exit: error?.exit, message: error?.message }).toMatchObject({ code, exit });
});
