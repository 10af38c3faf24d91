import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { tableRuns } from '../../../src/lake/index.js';
import { compactTable, rollbackTable, type RunOptions, type RunReport } from '../../../src/run/index.js';
import { summaryOf } from '../../../src/run/report.js';
import { since, sinceTests } from '../../contracts/since.js';
import { duckdb } from '../../support/duckdb.js';
import { type Lead, Nights, otherKey, type Served } from '../../support/nights.js';
import { lead, leads } from '../../support/services.js';

const writing = (mode: 'append' | 'merge', more = '', head = since, path = 't') =>
  `from: leads\n${head}\n${more}\nto:\n  - parquet: { path: ${path}, mode: ${mode} }`;
const rowsIn = (folder: string, path = 't') =>
  duckdb(`SELECT lead_id AS id, lead_status AS status FROM read_parquet('${folder}/${path}/**/*.parquet') ORDER BY lead_id::int`);

const nightsOf = (body: string) => Nights.of({ body, ids: (folder) => rowsIn(folder) });

/** Runs a night with pages of ten rows. @returns What it reports, and the numbers of the pages requested. */
async function night(nights: Nights, list: readonly Lead[], body?: string, options?: RunOptions) {
  const report = await nights.run({ list, limit: 10 }, body, options);
  const pages = nights.from.requests.flatMap((request) => Number(/^leads\?page=(\d+)&limit=10$/.exec(request)?.[1] ?? []) || []);
  return { report, pages: [...new Set(pages)].toSorted((a, b) => a - b), why: whyOf(report) };
}

const rolledBack = ({ folder }: Nights, table = 't') => rollbackTable(join(folder, table), { stateDir: join(folder, 'state') });
const whyOf = ({ warnings }: RunReport) => warnings.filter(({ code }) => code === 'W_SOURCE_SINCE').map(({ message }) => message);

describe('since', () => {
  describe('random nights', () => {
    for (const mode of ['append', 'merge'] as const)
      describe(mode, () => {
        sinceTests(async () => {
          const nights = await nightsOf(writing(mode));
          const rows = async () => (await rowsIn(nights.folder)).map(({ id, status }) => [String(id), String(status)] as const);
          return { nights, mode, rows };
        }, 2);
      });
  });

  test('reads the last pages and the new ones, and says so in report, summary, manifest and counts', async () => {
    const nights = await nightsOf(writing('append'));
    const first = await night(nights, leads(125));
    expect(first).toMatchObject({ why: [], pages: expect.arrayContaining([1, 2, 3, 12, 13]) });
    expect(first.report.scope).toBeUndefined();
    const { report, pages, why } = await night(nights, leads(131));
    // Page 1, where the cap shows; two pages and a part before the end; the new rows, and the end.
    expect({ pages: pages.slice(0, 6), why }).toEqual({ pages: [1, 11, 12, 13, 14, 15], why: [] });
    expect(report).toMatchObject({ scope: 'since', read: 31, partial: false, resumed: 0, consistency: { outcome: 'stable', passes: 0 } });
    expect(report.sinks[0]?.books).toMatchObject({ read: 31, unchanged: 25, written: 6 });
    expect(report.gates).toContainEqual(expect.objectContaining({ gate: 'max_read_shrink', rows: 131, rowsBefore: 125 }));
    expect(summaryOf(report)).toContain('consistency: since, stable');
    const [{ manifest } = { manifest: undefined }] = await tableRuns(join(nights.folder, 't'));
    expect(manifest).toMatchObject({ scope: 'since', rows: 131, reads: { leads: 131 }, since: { end: { from: 110, rows: 21, size: 10 } } });
    expect(await nights.ids()).toHaveLength(131);
  });

  test('reads everything after full_every, and begins anew', async () => {
    const nights = await nightsOf(writing('merge', '', since.replace('overlap: 2', 'overlap: 1, full_every: 2d')));
    const on = async (day: number) => {
      const { report, why } = await night(nights, leads(100 + day), undefined, { now: new Date(Date.UTC(2026, 0, day)) });
      expect(why).toEqual([]);
      return report.scope;
    };
    expect([await on(1), await on(2), await on(3), await on(4), await on(2)]).toEqual([undefined, 'since', undefined, 'since', undefined]);
    expect((await night(nights, leads(110), undefined, { restart: true })).report.scope).toBeUndefined();
  });

  const filtering = writing('append', 'steps:\n  - filter: lead_id != "7"');
  test.each<{ what: string; served?: Partial<Served>; body?: string; before?: (nights: Nights) => Promise<unknown> }>([
    { what: 'the file', body: filtering },
    { what: 'the account', served: { env: { LEADSTREAM_REST_API_KEY: otherKey } } },
    { what: 'the key of masks', served: { env: { LEADSTREAM_HMAC_KEY: otherKey } } },
    { what: 'the page size', served: { cap: 5 } },
    { what: 'the table, by a rollback', before: rolledBack },
  ])('reads everything, and says why, after a change of $what', async ({ served, body, before }) => {
    const nights = await nightsOf(writing('append'));
    for (const rows of [101, 102]) await night(nights, leads(rows));
    await before?.(nights);
    const changed = await nights.run({ list: leads(103), limit: 10, ...served }, body);
    expect(whyOf(changed)).toEqual([expect.stringMatching(/^leads: the whole list is read, because /)]);
    expect(await nights.ids()).toHaveLength(103);
    const next = await nights.run({ list: leads(104), limit: 10, ...served }, body);
    expect({ scope: next.scope, why: whyOf(next) }).toEqual({ scope: 'since', why: [] });
  });

  test('goes on after a compaction, and after a night without changes', async () => {
    const nights = await nightsOf(writing('merge'));
    for (const rows of [101, 102, 102]) await night(nights, leads(rows));
    await compactTable(join(nights.folder, 't'), { stateDir: join(nights.folder, 'state') });
    expect(await night(nights, leads(103))).toMatchObject({ report: { scope: 'since' }, why: [] });
    expect(await nights.ids()).toHaveLength(103);
  });

  test('reads everything when outputs are of different runs, also after a rollback that nothing else remembers', async () => {
    const body = `${writing('append')}\n  - parquet: { path: u, mode: merge }`;
    const nights = await nightsOf(body);
    for (const rows of [100, 130]) await night(nights, leads(rows), body);
    await rolledBack(nights, 'u');
    const { why, report } = await night(nights, leads(140), body, { stateDir: join(nights.folder, 'other') });
    expect({ scope: report.scope, why }).toEqual({ why: [expect.stringContaining('as after a rollback')] });
    expect([await rowsIn(nights.folder), await rowsIn(nights.folder, 'u')].map(({ length }) => length)).toEqual([140, 140]);
  });

  test('resumes a whole read, but not from pages that were spooled before the last run, whose rows they would change back', async () => {
    const nights = await nightsOf(writing('merge'));
    const list = (status: string, overlapping = 'sold') =>
      leads(130, (index) => ({ lead_status: index === 95 ? overlapping : index >= 100 && index < 110 ? status : 'sold' }));
    // The end has changed, so everything is read; the first pages are spooled.
    const interrupted = async (served: readonly Lead[]) => {
      const stop = new AbortController();
      let isWhole = false;
      const page = ({ number }: { readonly number: number }) => {
        isWhole ||= number === 1;
        if (isWhole && number === 12) stop.abort();
      };
      await expect(night(nights, served, undefined, { signal: stop.signal, watch: { page } })).rejects.toMatchObject({
        code: 'E_RUN_ABORTED',
      });
    };
    await night(nights, list('old').slice(0, 100));
    await interrupted(list('old', 'open'));
    const next = await night(nights, list('new'));
    const { report } = await night(nights, [...list('new').slice(0, 129), lead(129, { lead_status: 'open' })]);
    expect([next.report.scope, report.scope, report.resumed]).toEqual(['since', undefined, 0]);
    expect((await rowsIn(nights.folder)).filter(({ status }) => status === 'new')).toHaveLength(10);
    await interrupted(list('newer'));
    expect((await night(nights, list('newer'))).report.resumed).toBeGreaterThan(0);
  });

  test('keeps no digest of a few rows, which could confirm guesses of masked values', async () => {
    const nights = await nightsOf(writing('append'));
    await night(nights, leads(1));
    const [{ manifest } = { manifest: undefined }] = await tableRuns(join(nights.folder, 't'));
    expect(manifest?.since?.end).toEqual({ from: 0, rows: 1, size: 1, sha256: '' });
  });

  test('reads everything when the list is shorter than before', async () => {
    const nights = await nightsOf(writing('append'));
    await night(nights, leads(101));
    const { report, why } = await night(nights, leads(100));
    expect({ scope: report.scope, why }).toEqual({ scope: undefined, why: [expect.stringContaining('the last rows of the last run')] });
  });

  test('reads everything when the list changes while its end is read', async () => {
    const nights = await nightsOf(writing('merge'));
    await night(nights, leads(100));
    const list = leads(120);
    const watch = { page: () => void (list.length === 120 && list.splice(95, 1)) };
    const { report, why } = await night(nights, list, undefined, { watch });
    expect({ scope: report.scope, why }).toEqual({ scope: undefined, why: [expect.stringContaining('it changed while')] });
    expect(await nights.ids()).toEqual(expect.arrayContaining(list.map((_, index) => (index < 95 ? index : index + 1))));
  });

  test('reads the other side of a join whole, and does not warn of what the few rows do not have', async () => {
    const join_ = '  - join: { with: users, on: { uid: uid }, as: user, select: [email] }\n  - filter: lead_status != "sold"';
    const nights = await nightsOf(writing('append', `steps:\n${join_}`));
    nights.lists.users = Array.from({ length: 40 }, (_, uid) => ({ uid: String(uid), email: `${uid}@x.y` }));
    const list = [...leads(100, (index) => ({ lead_status: 'open', uid: String(index % 40) })), ...leads(120).slice(100)];
    await night(nights, list.slice(0, 100));
    await night(nights, list);
    const { report } = await night(nights, [...list, lead(120)]);
    expect(report).toMatchObject({ scope: 'since', sides: [{ rows: 40 }], warnings: [] });
  });
});
