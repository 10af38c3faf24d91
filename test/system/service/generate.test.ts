import { collectionNames, collections, columnsOf, originalName, withheldOf, type Collection } from '../../../src/collections/index.js';
import { parserOf } from '../../../src/core/index.js';
import { generate, startService, type GenerateOptions, type RunningService } from '../../../src/service/index.js';
import { account, allRows, rowsAt, small, type TextRow } from './support.js';

let service: RunningService;
const rows: Record<string, TextRow[]> = {};
beforeAll(async () => {
  service = await startService({ source: generate(small({ leads: 3000 })), accounts: [account] });
  for (const name of collectionNames) rows[name] = name === 'links' ? await rowsAt(service, name) : await allRows(service, name);
});
afterAll(() => service.close());

const of = (name: string): TextRow[] => rows[name] ?? [];
const column = (name: string, field: string): string[] => of(name).map((row) => row[field] ?? '');
const leadsOf = (options: GenerateOptions): TextRow[] => {
  const { leads } = generate(small(options));
  return Array.from({ length: leads.count }, (_, index): TextRow => JSON.parse(leads.row(index)));
};
const byKey = (name: string, field: string): Map<string | undefined, TextRow> => new Map(of(name).map((row) => [row[field], row]));

test.each(collectionNames)(
  '%s has the fields of the document in its order, values that cast to their declared type, and unique keys',
  (name) => {
    const { fields, key }: Collection = collections[name];
    const shown = columnsOf<Collection>(collections[name], withheldOf(collections[name])).map(({ original }) => original);
    expect(new Set(of(name).map((row) => Object.keys(row).join()))).toEqual(new Set([shown.join()]));
    for (const [columnName, field] of Object.entries(fields)) {
      const parse = parserOf(field.type);
      expect(column(name, originalName(columnName, field)).filter((text) => parse(text) === undefined)).toEqual([]);
    }
    expect(new Set(of(name).map((row) => key.map((field) => row[field]).join('|'))).size).toBe(of(name).length);
  },
);

describe('rows hang together', () => {
  test('in leads: bridge, its user and campaign, and the user', () => {
    const [bridges, users] = [byKey('bridges', 'id'), byKey('users', 'uid')];
    const apart = of('leads').filter((lead) => {
      const bridge = bridges.get(lead['bridge_id']);
      const same = [bridge?.['uid'] === lead['bridge_uid'], bridge?.['campaign_id'] === lead['campaign_id'], users.has(lead['uid'])];
      return same.includes(false) || bridge?.['campaign_name'] !== lead['campaign_name'];
    });
    expect(apart).toEqual([]);
  });

  test('in timestamp and yearmonthday, which name the same UTC day', () => {
    const dayOf = (timestamp = '') => new Date(Number(timestamp) * 1000).toISOString().slice(0, 10).replaceAll('-', '');
    expect(of('leads').filter(({ timestamp, yearmonthday }) => dayOf(timestamp) !== yearmonthday)).toEqual([]);
  });
});

describe('generated values', () => {
  test('are nobody’s: reserved phones, mail domains, addresses and numbers', () => {
    const reserved = {
      cell_phone: /^1?[2-9]\d\d55501\d\d$/,
      email: /^[a-z]+\.[a-z]+\.\d+@example\.(com|org)$/,
      IPAddress: /^(192\.0\.2|198\.51\.100|203\.0\.113)\.\d{1,3}$/,
      sin_number: /^000\d{6}$/,
    };
    for (const [field, form] of Object.entries(reserved)) expect(column('leads', field).filter((value) => !form.test(value))).toEqual([]);
    expect(column('bridges', 'CRM_KEY').every((key) => key.startsWith('fake-crm-'))).toBe(true);
  });

  test('include what trips readers: quotes, commas, line breaks, apostrophes, leading zeros, empty texts', () => {
    const [metas, names, zips] = [column('leads', 'meta'), column('leads', 'lastname'), column('leads', 'zipcode')];
    expect(metas.some((meta) => meta.includes('"') && meta.includes(','))).toBe(true);
    expect(metas.some((meta) => meta.includes('\n'))).toBe(true);
    expect(names.some((name) => name.includes("'"))).toBe(true);
    expect(names.some((name) => /[^\u0000-\u00ff]/.test(name))).toBe(true);
    expect(zips.some((zip) => /^0[1-9]/.test(zip))).toBe(true);
    expect(column('leads', 'middlename')).toContain('');
    expect(new Set(column('leads', 'is_valid'))).toEqual(new Set(['Yes', 'yes', 'No', 'no', '1', '0']));
    expect(column('leads', 'home_phone').some((phone) => phone.length === 11)).toBe(true);
  });

  test('are digits where the service has digits', () => {
    const fields = ['age', 'home_phone', 'cell_phone', 'zipcode', 'sin_number', 'timestamp', 'yearmonthday'];
    expect(fields.flatMap((field) => column('leads', field)).filter((value) => !/^\d+$/.test(value))).toEqual([]);
  });

  test('include Canadian postal codes with `canadian`', () => {
    const zips = leadsOf({ canadian: true }).map(({ zipcode = '' }) => zipcode);
    expect(zips.filter((zip) => /^[A-Z]\d[A-Z] \d[A-Z]\d$/.test(zip)).length).toBeGreaterThan(10);
    expect(zips.filter((zip) => !/^(?:\d{5}|[A-Z]\d[A-Z] \d[A-Z]\d)$/.test(zip))).toEqual([]);
  });

  test('end within a minute of the midnight of `until`, and leave the other fields as they are', () => {
    const [leads, others] = [leadsOf({ until: '2024-03-01' }), leadsOf({})];
    expect(leads.at(-1)?.['yearmonthday']).toBe('20240229');
    expect(Number(leads.at(-1)?.['timestamp'])).toBeGreaterThan(Date.parse('2024-03-01') / 1000 - 60);
    const { timestamp, yearmonthday } = others[0] ?? {};
    expect(leads.map((lead) => ({ ...lead, timestamp, yearmonthday }))).toEqual(
      others.map((lead) => ({ ...lead, timestamp, yearmonthday })),
    );
  });

  test.each(['2024-02-30', '2024-2-1', '20240201', '1970-01-01'])('are refused until %s', (until) => {
    expect(() => generate({ until })).toThrow('until must be a day after 1970-01-01 as YYYY-MM-DD');
  });

  test('are of people of whom some come again, with another address or phone at times', () => {
    const byPerson = new Map<string, TextRow[]>();
    for (const lead of of('leads')) {
      const person = ['firstname', 'lastname', 'sin_number', 'home_phone', 'zipcode'].map((field) => lead[field]).join('|');
      byPerson.set(person, [...(byPerson.get(person) ?? []), lead]);
    }
    const people = [...byPerson.values()].filter(({ length }) => length > 1);
    const differing = (field: string) => people.filter((leads) => new Set(leads.map((lead) => lead[field])).size > 1).length;
    expect(people.length).toBeGreaterThan(200);
    for (const field of ['email', 'cell_phone']) expect([differing(field) > 50, differing(field) < people.length]).toEqual([true, true]);
  });

  test('are computed without a list: the last of a billion leads comes at once', () => {
    const { leads } = generate({ leads: 1_000_000_000 });
    const lead: TextRow = JSON.parse(leads.row(999_999_999));
    expect(leads.find(lead['lead_id'] ?? '')).toEqual([999_999_999]);
  });
});
