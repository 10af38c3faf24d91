import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { of } from 'rxjs';
import { LeadstreamError, SystemSignal } from '../../../src/core/index.js';
import { RestCatalog, storeTable } from '../../../src/lake/index.js';
import { writeTo } from '../../../src/run/index.js';
import { csv } from '../../../src/sinks/index.js';
import { Stores } from '../../../src/store/index.js';
import { placed } from '../../support/cut-runs.js';
import { cuttingProxy, type Fate } from '../../support/cutting-proxy.js';
import { pageOf } from '../../support/pages.js';
import { leads, runIn, serviceOf } from '../../support/services.js';
import { inSeaweedFS } from '../../support/in-seaweedfs.js';
import { warehouse } from '../../support/seaweedfs.js';
import { column } from '../../support/sinks.js';
import { temporaryFolder } from '../../support/temporary.js';

type Kind = 'csv' | 'plain' | 'iceberg' | 'rest' | 'delta';

inSeaweedFS('a run that is stopped', (server) => {
  /** Replaces one row by three in a run that is stopped when a request meets its fate, and by two in the next one. */
  async function outcomeOf(kind: Kind, doomed: RegExp, fate: Fate, deadline?: string) {
    const { root, store: place, read } = placed();
    const { catalog: uri } = server();
    const catalog = { uri, warehouse, name: `stopped.t_${root.slice(-12)}`, credential: 'writer:writer-secret', scope: 'catalog' };
    const path = kind === 'rest' ? await new RestCatalog(catalog).location() : `${root}/${kind}`;
    const run = async (rows: number, [endpoint, uri]: readonly string[], options: object = {}) => {
      const at = kind === 'rest' ? `catalog: ${JSON.stringify({ ...catalog, uri, credential: '${CREDENTIAL}' })}` : `path: '${path}'`;
      const sink = kind === 'csv' ? `csv: { ${at} }` : `parquet: { ${at}, table: ${kind === 'rest' ? 'iceberg' : kind}, keep: 0 }`;
      const body = `store: { endpoint: '${endpoint}' }\nfrom: leads\nto:\n  - ${sink}`;
      const from = await serviceOf({ leads: leads(rows) });
      const env = { ...from.env, CREDENTIAL: catalog.credential };
      return runIn({ ...from, env }, body, join(await temporaryFolder(), 'x'), options);
    };
    const seen = async () => {
      if (kind === 'csv') return ((await read('csv'))?.split('\n').length ?? 0) - 2;
      const table = storeTable(
        new Stores().at(path),
        kind === 'rest' ? 'iceberg' : kind,
        kind === 'rest' ? new RestCatalog(catalog) : undefined,
      );
      return ((await table.format.load())?.files ?? []).reduce((sum, { rows }) => sum + rows, 0);
    };
    const direct = [server().endpoint, uri];
    await run(1, direct);
    const stop = new AbortController();
    const end = () => stop.abort(new SystemSignal('SIGTERM', 143));
    let [met, again] = [0, 0];
    const fateOf = (request: string): Fate => {
      if (!doomed.test(request)) return 'answered';
      met += 1;
      if (stop.signal.aborted) again += 1;
      // One that is refused could be sent again in the meantime.
      else if (fate === 'refused') end();
      else setTimeout(end, 100);
      return fate;
    };
    const proxies = [(await cuttingProxy(server().endpoint, fateOf)).url, (await cuttingProxy(uri, fateOf)).url];
    const set = deadline === undefined ? {} : { 'service.deadline': deadline };
    const outcome = await run(3, proxies, { set, ...(deadline === undefined && { signal: stop.signal }) }).then(
      () => 'published',
      (failure: unknown) =>
        failure instanceof LeadstreamError ? [failure.code, failure.exit, failure.message.replaceAll(path, 'T')] : failure,
    );
    const rows = await seen();
    // A slow machine may not release them within its time, and this process lives on.
    await place.remove(['', '.rejects.ndjson'].map((end) => `.${kind}${end}.lock`));
    await run(2, direct);
    const left: string[] = [];
    const objects = kind === 'csv' ? place : new Stores().at(path);
    for await (const { key } of objects.list('_leadstream/intents/')) left.push(key);
    return { end: outcome, met: met > 0, again, rows, next: await seen(), left };
  }

  test('sends nothing again, ends what it sent, and says what became of it', async () => {
    const commit = /^PUT .*(?:\/_latest\.json|\/csv|\/v\d+\.metadata\.json|_delta_log\/\d+\.json)$|^POST .*\/tables\/[^/]+$/;
    const cases: readonly (readonly [Kind, RegExp, Fate, object | string, number, string?])[] = [
      ['plain', /^PUT .*\/data\//, 'silent', ['E_RUN_ABORTED', 143, /^the run was stopped; it could not upload T\/data\/\S+$/], 1],
      ['delta', /^PUT .*\/data\//, 'refused', ['E_RUN_ABORTED', 143, /^the run was stopped; it could not upload T\/data\/\S+$/], 1],
      ['plain', /^PUT .*\/data\//, 'silent', ['E_RUN_DEADLINE', 69, /^the run was stopped; it could not upload T\/data\/\S+$/], 1, '10s'],
      ['plain', commit, 'silent', ['E_RUN_ABORTED', 143, /; it is not known whether T\/_latest\.json was written$/], 1],
      ['csv', commit, 'silent', ['E_RUN_ABORTED', 143, /; it is not known whether T was written$/], 1],
      ['rest', commit, 'silent', ['E_RUN_ABORTED', 143, /; it is not known whether the next version of T was written$/], 1],
      ['delta', commit, 'refused', ['E_RUN_ABORTED', 143, /; it is not known whether T\/_delta_log\/\d+\.json was written$/], 1],
      ...(['plain', 'rest', 'delta'] as const).map((kind) => [kind, commit, 'unanswered', 'published', 3] as const),
    ];
    const outcomes = await Promise.all(cases.map(([kind, doomed, fate, , , deadline]) => outcomeOf(kind, doomed, fate, deadline)));
    const expected = cases.map(([, , , end, rows]) => ({
      end: Array.isArray(end) ? end.map((each: unknown) => (each instanceof RegExp ? expect.stringMatching(each) : each)) : end,
      ...{ met: true, again: 0, rows, next: 2, left: [] },
    }));
    expect(outcomes).toEqual(expected);
  });

  test('in a program ends by the signal of its sink', async () => {
    const { at, store, read } = placed();
    await store.put('x.csv', 'old');
    const stop = new AbortController();
    const proxy = await cuttingProxy(server().endpoint, (request) => {
      if (!/^PUT .*\/x\.csv$/.test(request)) return 'answered';
      stop.abort();
      return 'silent';
    });
    const stores = new Stores({ endpoint: proxy.url }, stop.signal);
    const sink = csv({ path: at('x.csv') }, { stores, signal: stop.signal });
    const written = writeTo(of(pageOf(1, [{ id: '1' }])), sink, { columns: [column('id')], signal: stop.signal });
    await expect(written).rejects.toMatchObject({ code: 'E_RUN_ABORTED', message: expect.stringContaining('not known') });
    expect(await read('x.csv')).toBe('old');
    expect(JSON.parse((await read('.x.csv.lock')) ?? '')).toMatchObject({ owner: null });
  });
});
