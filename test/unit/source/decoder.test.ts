import { Decoder, readList } from '../../../src/source/decode/decoder.js';
import { scan } from '../../../src/source/decode/scan.js';
import { collections } from '../../../src/collections/index.js';

const { bridges, links, users } = collections;
const user = { uid: '7', email: 'a@b.c', affid: '1' };
/** Records as an answer brings them. */
const sent = (...records: readonly (object | string)[]) =>
  readList('', {
    status: 200,
    body: Buffer.from(`[${records.map((record) => (typeof record === 'string' ? record : JSON.stringify(record))).join()}]`),
  });

/** The rows of a page, once it comes. */
const rowsOf = (decoder: Decoder, records: ReturnType<typeof sent>) => decoder.findings.named(decoder.decode(records)).rows();

describe('declared fields', () => {
  test('that are missing are null and counted', () => {
    const decoder = new Decoder(users);
    expect(decoder.decode([{ uid: '7' }, user]).rows()).toEqual([{ uid: '7', email: null, affid: null }, user]);
    expect([...decoder.findings.missing]).toEqual([
      ['email', 1],
      ['affid', 1],
    ]);
  });

  test.each([
    [7, '7'],
    [true, 'true'],
    [1.5, '1.5'],
    [['a', 1], '["a",1]'],
    [{ a: null }, '{"a":null}'],
  ])('whose value is %j are kept as its JSON text and counted', (value, text) => {
    const decoder = new Decoder(users);
    expect(
      decoder
        .decode(sent({ ...user, uid: value }, user))
        .column('uid')
        .toArray(),
    ).toEqual([text, '7']);
    expect([...decoder.findings.notText]).toEqual([['uid', 1]]);
  });
});

describe('unknown fields', () => {
  test('are kept under their snake_case names, found and counted', () => {
    const decoder = new Decoder(users);
    expect(rowsOf(decoder, [{ ...user, 'Shoe Size': '42' }, user, { ...user, 'Shoe Size': '43' }])).toEqual([
      { ...user, shoe_size: '42' },
      { ...user, shoe_size: null },
      { ...user, shoe_size: '43' },
    ]);
    expect([...decoder.findings.unknown]).toEqual([
      [
        'Shoe Size',
        expect.objectContaining({ rows: 2, column: expect.objectContaining({ name: 'shoe_size', original: 'Shoe Size', type: 'text' }) }),
      ],
    ]);
  });

  test('get a suffix when their name is taken', () => {
    const decoder = new Decoder(users);
    const record = { ...user, UID: 'upper', 'u-id': 'hyphen', 'U id': 'blank', 'uid ': 'end' };
    expect(rowsOf(decoder, [record])).toEqual([{ ...user, uid_2: 'upper', u_id: 'hyphen', u_id_2: 'blank', uid_3: 'end' }]);
  });
});

test.each([bridges, links])('secret fields are all unknown ones of $name, which are found but stay behind', (collection) => {
  const decoder = new Decoder(collection);
  const [row] = decoder.findings.named(decoder.decode([{ id: '1', NewToken: 'hush' }])).rows();
  expect(Object.values(row ?? {})).not.toContain('hush');
  expect([...decoder.findings.unknown.keys()]).toEqual(['NewToken']);
  expect(decoder.findings.placed).toEqual([]);
});

describe('the width of records', () => {
  const wide = (fields: number, first = 0) =>
    Object.fromEntries([...Object.entries(user), ...Array.from({ length: fields - 3 }, (_, index) => [`f${first + index}`, 'x'])]);
  const columnsOf = (...records: readonly object[]) => {
    const found = scan(Buffer.from(JSON.stringify(records)));
    if (!found) throw new Error('records of several forms');
    return found;
  };

  test('is refused beyond that, with its number', () => {
    const refused = { code: 'E_SOURCE_LIMIT', kind: 'permanent', message: 'users: a record has 4,097 fields, but at most 4,096 are read' };
    expect(() => new Decoder(users).decode([wide(4097)])).toThrow(expect.objectContaining(refused));
    expect(() => new Decoder(users).decodeColumns(columnsOf(wide(4097)))).toThrow(expect.objectContaining(refused));
    const lacking = sent({ uid: '1', ...Object.fromEntries(Array.from({ length: 4096 }, (_, index) => [`f${index}`, 7])) });
    expect(() => new Decoder(users).decode(lacking)).toThrow(expect.objectContaining(refused));
  });

  test('counts for all records together, whatever each has', () => {
    const refused = { code: 'E_SOURCE_LIMIT', message: 'users: records have more than 4,096 different fields' };
    const decoder = new Decoder(users);
    decoder.decode([wide(3000)]);
    expect(() => decoder.decode([wide(2000, 5000)])).toThrow(expect.objectContaining(refused));
    expect(() => decoder.decodeColumns(columnsOf(wide(2000, 5000)))).toThrow(expect.objectContaining(refused));
  });
});
