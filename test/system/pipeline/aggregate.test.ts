import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { leads, runIn, serviceOf, type LoggedService } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

const count = 1_603;
const names = ['', 'Zoë', 'Ａ', '😀', 'a', 'B', 'é', 'ab'];
const wholes = ['41', '', '-3', '9007199254740993', '0', '17'];

/** Leads with ties, empty values and Unicode in every type. */
const records = leads(count, (index) => ({
  campaign_id: String(index % 37),
  campaign_name: names[index % names.length],
  email: `m${index % 601}@é.example`,
  age: wholes[index % wholes.length],
  yearmonthday: index % 5 === 0 ? '' : `202402${String(1 + (index % 29)).padStart(2, '0')}`,
  timestamp: index % 7 === 0 ? '' : String(1_700_000_000 + ((index * 7_919) % 100_003)),
  'LEAD ACCEPTED': ['yes', 'No', '', '1'][index % 4],
  lead_status: ['sold', 'open', 'new'][index % 3],
  aff_sub: `${((index * 31) % 1_009) / 7 - 50}`,
}));

const calls = `
        leads: count()
        sold: count(lead_status == 'sold')
        emails: count_distinct(email)
        ages: count_distinct(age)
        total: sum(age)
        mean: avg(age)
        points: sum(num(aff_sub))
        average: avg(num(aff_sub))
        first: min(timestamp)
        last: max(timestamp)
        day: max(yearmonthday)
        word: min(campaign_name)
        other: max(campaign_name)
        any: max(lead_accepted)`;

describe('a pipeline that aggregates', () => {
  let from: LoggedService;

  beforeEach(async () => {
    from = await serviceOf({ leads: records });
  });

  test('gives the same bytes within its memory and beyond', async () => {
    const [one, other] = [await temporaryFolder(), await temporaryFolder()];
    const body = (memory: string) =>
      `from: leads\nsteps:\n  - aggregate:\n      by: [email, timestamp]\n      memory: ${memory}\n      compute:${calls}\nto:\n  - parquet: { path: lake/groups }`;
    await runIn(from, body('256MB'), one);
    await runIn(from, body('32MB'), other, { set: { 'service.limit': '37' } });
    const bytes = async (folder: string) => {
      const table = join(folder, 'lake/groups');
      return Promise.all((await readdir(table)).toSorted().map((name) => readFile(join(table, name))));
    };
    expect(await bytes(other)).toEqual(await bytes(one));
  });

  test('goes on with other steps, and closes its books with all of them', async () => {
    const folder = await temporaryFolder();
    const steps = `
  - filter: lead_status != 'new'
  - aggregate: { by: [campaign_id], compute: { n: count(), last: max(timestamp) } }
  - filter: n > 28
  - derive: { share: 'double(n) / 1603.0' }
  - sort: { by: [n desc, campaign_id] }
  - aggregate: { compute: { campaigns: count(), most: max(n) } }`;
    const report = await runIn(from, `from: leads\nsteps:${steps}\nto:\n  - ndjson: { path: out.ndjson, types: typed }`, folder);
    const books = report.sinks[0]?.books;
    const kept = records.filter((_, index) => index % 3 !== 2);
    const of = (campaign: number) => kept.filter((lead) => 'campaign_id' in lead && lead.campaign_id === String(campaign));
    const sizes = Array.from({ length: 37 }, (_, campaign) => of(campaign).length);
    const large = sizes.filter((size) => size > 28);
    expect(books).toMatchObject({
      read: count,
      grouped: kept.length + large.length,
      groups: 38,
      filtered: count - kept.length + 37 - large.length,
      written: 1,
    });
    expect(JSON.parse(await readFile(join(folder, 'out.ndjson'), 'utf8'))).toEqual({ campaigns: large.length, most: Math.max(...sizes) });
  });

  test('writes the total of an empty list, and no group of it', async () => {
    const none = await serviceOf({ leads: [] });
    const folder = await temporaryFolder();
    const of = (by: string) =>
      `from: leads\nsteps:\n  - aggregate: { ${by} compute: { n: count(), last: max(timestamp) } }\nto:\n  - csv: { path: out.csv }\nexpect: { min_rows: 1 }`;
    const report = await runIn(none, of(''), folder);
    expect(report.sinks[0]?.books).toMatchObject({ read: 0, groups: 1, grouped: 0, written: 1 });
    expect(await readFile(join(folder, 'out.csv'), 'utf8')).toBe('n,last\n0,\n');
    await expect(runIn(none, of('by: [uid],'), folder)).rejects.toMatchObject({ code: 'E_GATE_EXPECT' });
  });
});
