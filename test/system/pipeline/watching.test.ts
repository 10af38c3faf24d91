import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { lastValueFrom, toArray } from 'rxjs';
import { connect, watch, type RunReport, type Watcher } from '../../../src/index.js';
import { exportSpans, type Attributes, type Span } from '../../../examples/open-telemetry.js';
import { leads, runIn, service, serviceOf, testKey, type LoggedService } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

const joined = [
  'from: leads',
  'steps:',
  '  - join: { with: bridges, on: { bridge_id: id }, as: bridge, select: [title] }',
  "  - filter: lead_status == 'sold'",
  'to:',
  '  - csv: { path: leads.csv }',
  '  - parquet: { path: lake/leads }',
].join('\n');
/** One attempt at a page of leads fails. */
const busy = '503@collection=leads,purpose=page,page=2,times=1';
const toCsv = 'from: leads\nto:\n  - csv: { path: leads.csv }';

/** A span that was exported, with what it was when it ended. */
interface Exported {
  readonly name: string;
  readonly parent: Exported | undefined;
  readonly attributes: Record<string, string | number | boolean>;
  readonly events: Attributes[];
  ended: number;
  failed: boolean;
}

/** Exports the spans of what happens during some work. */
async function traced<T>(work: () => Promise<T>): Promise<{ readonly spans: readonly Exported[]; readonly result: T }> {
  const spans: Exported[] = [];
  const startSpan = (name: string, { attributes }: { attributes: Attributes }, context?: object): Span => {
    const exported: Exported = {
      name,
      parent: context as Exported | undefined,
      attributes: { ...attributes },
      events: [],
      ended: 0,
      failed: false,
    };
    spans.push(exported);
    const span: Span & { readonly exported: Exported } = {
      exported,
      setAttributes: (more) => (Object.assign(exported.attributes, more), span),
      setStatus: () => ((exported.failed = true), span),
      addEvent: (_name, event = {}) => (exported.events.push(event), span),
      end: () => void (exported.ended += 1),
    };
    return span;
  };
  const end = exportSpans({ startSpan }, (span) => (span as Span & { readonly exported: Exported }).exported);
  try {
    return { spans, result: await work() };
  } finally {
    end();
  }
}

/** A watcher of everything that can happen. */
function watcherOf(tell: (event: object) => void): Watcher {
  const operation = { start: tell, error: tell, asyncEnd: tell };
  const moments = { retry: tell, page: tell, wait: tell, step: tell, warning: tell };
  return { ...moments, run: operation, read: operation, request: operation, write: operation, finish: operation, commit: operation };
}

/** Holds the spans of one run against its report, and against what the service was asked. */
function expectTrace(spans: readonly Exported[], report: RunReport, from: LoggedService): void {
  const own = spans.filter(({ attributes }) => attributes['run'] === report.runId);
  const named = (name: string) => own.filter((span) => span.name === `leadstream ${name}`);
  const [run] = named('run');
  expect(named('run')).toHaveLength(1);
  expect(own.every(({ ended }) => ended === 1)).toBe(true);
  expect(own.filter((span) => span !== run).every(({ parent }) => parent === run)).toBe(true);
  expect(named('request')).toHaveLength(from.requests.length + from.probes.length);
  expect(named('request').filter(({ attributes }) => attributes['purpose'] === 'probe')).toHaveLength(from.probes.length);
  const pages = run?.events.filter(({ at }) => at === undefined) ?? [];
  expect(pages).toHaveLength(report.pages);
  expect(pages.reduce((total, { rows }) => total + Number(rows), 0)).toBe(report.read);
  for (const { at, books } of report.sinks) {
    const writes = named('write').filter(({ attributes }) => attributes['at'] === at);
    expect(writes.reduce((total, { attributes }) => total + Number(attributes['rows']), 0)).toBe(books.written);
  }
  expect(named('read')).toHaveLength(1 + report.sides.length);
  expect(named('finish')).toHaveLength(report.sinks.length);
  expect(named('commit')).toHaveLength(1);
}

describe('watching a run', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  describe('the spans of a run', () => {
    test('are those of its report and of its requests, also next to another run', async () => {
      const [one, other] = [await service(undefined, { faults: [busy] }), await serviceOf({ leads: leads(730) })];
      const folders = [await temporaryFolder(), await temporaryFolder()] as const;
      const { spans, result } = await traced(() => Promise.all([runIn(one, joined, folders[0]), runIn(other, toCsv, folders[1])]));
      expect(new Set(spans.map(({ attributes }) => attributes['run'])).size).toBe(2);
      expectTrace(spans, result[0], one);
      expectTrace(spans, result[1], other);
      expect(spans.filter(({ attributes, failed }) => attributes['status'] === 503 && failed)).toHaveLength(1);
    });

    test('of one that fails all end', async () => {
      const [from, folder] = [await service(undefined, { faults: ['404@page=3'] }), await temporaryFolder()];
      const { spans } = await traced(() => runIn(from, toCsv, folder).catch(() => {}));
      expect(spans.filter(({ ended }) => ended !== 1)).toEqual([]);
      expect(spans.find(({ name }) => name === 'leadstream run')).toMatchObject({ failed: true });
      expect(spans.some(({ name }) => name === 'leadstream commit')).toBe(false);
    });
  });

  describe('no event has the key', () => {
    test.each<[string, Parameters<typeof service>[1]]>([
      ['when attempts fail', { faults: ['503@page=2,times=1', 'cut=length@page=3,times=1', 'html@page=4,times=1'] }],
      ['when the service answers with it', { responders: [() => ({ kind: 'raw', status: 500, headers: {}, body: testKey })] }],
    ])('%s', async (_when, options) => {
      const [from, folder] = [await service(undefined, options), await temporaryFolder()];
      const told: string[] = [];
      const end = watch(watcherOf((event) => told.push(JSON.stringify(event))));
      await runIn(from, joined, folder, { set: { 'service.retry.attempts': '2' } }).catch(() => {});
      end();
      expect(told.length).toBeGreaterThan(4);
      for (const spelling of [testKey, encodeURIComponent(testKey), new URLSearchParams({ k: testKey }).toString().slice(2), 'k+e', 'k%2B'])
        expect(told.filter((event) => event.includes(spelling) || event.includes(JSON.stringify(spelling).slice(1, -1)))).toEqual([]);
    });

    test('and none has the identifier of a record, or a row', async () => {
      const from = await serviceOf({ leads: leads(3, (index) => ({ lead_id: `77007${index}`, email: 'jane@example.com' })) });
      const told: string[] = [];
      const watcher = watcherOf((event) => told.push(JSON.stringify(event)));
      const connection = connect({ baseUrl: from.url, auth: { rest_api_key: testKey }, endWaitMs: 1, watch: watcher });
      const read = await lastValueFrom(connection.leads.rows$.pipe(toArray()));
      const [lead] = await connection.leads.find('770071');
      await connection.close();
      expect(read[1]).toEqual(lead);
      expect(lead).toMatchObject({ lead_id: '770071', email: 'jane@example.com' });
      expect(told.length).toBeGreaterThan(0);
      expect(told.filter((event) => /77007\d|jane/.test(event))).toEqual([]);
      expect(told.at(-1)).toContain('/api/leads/{id}');
      expect(told.every((event) => event.includes(connection.id))).toBe(true);
    });
  });

  const report = async (watcher: Watcher) => {
    const [from, folder] = [await service(), await temporaryFolder()];
    const { pages, read, sinks, warnings } = await runIn(from, joined, folder, { watch: watcher });
    return {
      pages,
      read,
      books: sinks.map(({ books }) => books),
      warnings,
      rows: (await readFile(join(folder, 'leads.csv'), 'utf8')).length,
    };
  };

  test('a watcher cannot disturb a run by throwing', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockReturnValue();
    const undisturbed = await report({});
    const throwing = () => {
      throw new Error('broken');
    };
    const broken = await report(watcherOf(throwing));
    expect(broken).toEqual(undisturbed);
    expect(new Set(warn.mock.calls.map(([message]) => message)).size).toBe(warn.mock.calls.length);
  });

  test('a connection tells its own events alone', async () => {
    const [one, other] = [await service(), await service()];
    const pages: string[] = [];
    const open = (from: LoggedService) =>
      connect({
        baseUrl: from.url,
        auth: { rest_api_key: testKey },
        limit: 500,
        endWaitMs: 1,
        watch: { page: ({ run }) => pages.push(run) },
      });
    const [first, second] = [open(one), open(other)];
    await Promise.all([first, second].map((connection) => lastValueFrom(connection.leads.rows$.pipe(toArray()))));
    await first.close();
    await second.close();
    expect(first.id).not.toBe(second.id);
    expect(pages.filter((run) => run === first.id)).toHaveLength(3);
    expect(pages.filter((run) => run === second.id)).toHaveLength(3);
  });
});
