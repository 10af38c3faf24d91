import * as fc from 'fast-check';
import { Decoder, readList } from '../../../src/source/decode/decoder.js';
import { sentColumns, scan } from '../../../src/source/decode/scan.js';
import { collections } from '../../../src/collections/index.js';
import { RecordBatch } from '../../../src/vector/index.js';
import { JsonText, readJson } from '../../../src/json/index.js';
import { literal, nested } from '../../support/json.js';
import { anyText } from '../../support/texts.js';

/** The rows that a scan found. */
function scanned(body: Uint8Array): readonly unknown[] | undefined {
  const found = scan(body);
  if (!found) return undefined;
  const columns = new Map([...sentColumns(found)].map(([name, { vector }]) => [name, vector]));
  return new RecordBatch(found.rows, columns).rows();
}

/** What `readJson` finds in it, with texts for what is JSON. */
function read(body: Uint8Array): readonly unknown[] {
  const items = readJson(body);
  if (!Array.isArray(items)) throw new Error('no list');
  return items.map((item) => Object.fromEntries(Object.entries(item).map(([name, value]) => [name, plain(value)])));
}

const plain = (value: unknown) => (value instanceof JsonText ? value.text : value);

const nasty = fc.oneof(
  anyText().filter((text) => !text.includes('\0')),
  fc.constantFrom('', '"', '\\', '\\"', '\u2028', '\ud83d\ude00', '}{', '"},{"', '\x7f', '\ufeff', 'é', ' ', '/'),
  fc.string(),
);
const field = fc.oneof(
  fc.constantFrom('lead_id', 'PSID', 'LEAD ACCEPTED', 'é', '', 'toString', '1', '2'),
  fc.stringMatching(/^[a-z ]{1,8}$/),
);

/** Lists of records that have the same fields in the same order: names and values, which are strings or JSON as it is written. */
const listsOf = (value: fc.Arbitrary<string | JsonText>) =>
  fc
    .uniqueArray(field, { minLength: 1, maxLength: 6 })
    .chain((names) =>
      fc
        .array(fc.tuple(...names.map(() => value)), { minLength: 1, maxLength: 5 })
        .map((rows) => rows.map((values) => names.map((name, index) => [name, values[index] ?? ''] as const))),
    );
const lists = listsOf(nasty);
const mixed = listsOf(
  fc.oneof(
    nasty,
    fc.oneof(literal, nested).map((json) => new JsonText(json)),
  ),
);

/** Ways to write JSON: compact, with spaces, over lines, and with everything escaped that can be. */
const escapedAll = (text: string) =>
  `"${[...text].map((character) => [...character.split('')].map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')).join('')}"`;
const compact = { between: ',', colon: ':', open: '{', close: '}', text: JSON.stringify };
const writers = [
  compact,
  { between: ', ', colon: ': ', open: '{ ', close: ' }', text: JSON.stringify },
  { between: ',\r\n\t', colon: ' :\n', open: '{\n', close: '\n}', text: (text: string) => JSON.stringify(text).replaceAll('/', '\\/') },
  { between: ',', colon: ':', open: '{', close: '}', text: escapedAll },
];

function written(list: readonly (readonly (readonly [string, string | JsonText])[])[], way: number): string {
  const { between, colon, open, close, text } = writers[way] ?? compact;
  const json = (value: string | JsonText) => (value instanceof JsonText ? value.text : text(value));
  const records = list.map((row) => open + row.map(([name, value]) => JSON.stringify(name) + colon + json(value)).join(between) + close);
  return `[${records.join(between)}]`;
}

describe('scan', () => {
  test('reads lists of one form like JSON.parse, however they are written', () => {
    fc.assert(
      fc.property(lists, fc.nat(3), (list, way) => {
        const json = written(list, way);
        expect(scanned(Buffer.from(json))).toEqual(JSON.parse(json));
      }),
    );
  });

  test('reads values of every kind like readJson', () => {
    fc.assert(
      fc.property(mixed, fc.nat(3), (list, way) => {
        const json = Buffer.from(written(list, way));
        expect(scanned(json)).toEqual(read(json));
      }),
    );
  });

  test('counts what is null, and what is no string', () => {
    const found = scan(Buffer.from('[{"a":"1","b":null,"c":1},{"a":true,"b":"x","c":[1, 2]},{"a":"","b":null,"c":{}}]'));
    expect([...(found?.nulls ?? [])]).toEqual([0, 2, 0]);
    expect([...(found?.notText ?? [])]).toEqual([1, 0, 3]);
  });

  test('takes nothing that JSON.parse would refuse or read otherwise', () => {
    let taken = 0;
    const damage = fc.array(
      fc.record({ at: fc.nat(400), remove: fc.nat(2), put: fc.constantFrom(...'"\\,:{}[] \n\x01ax0u', '\\u00', '\\ud83d', '\xff') }),
      { maxLength: 3 },
    );
    fc.assert(
      fc.property(mixed, fc.nat(3), damage, (list, way, damages) => {
        let bytes = Buffer.from(written(list, way));
        for (const { at, remove, put } of damages) {
          const place = at % (bytes.length + 1);
          bytes = Buffer.concat([
            bytes.subarray(0, place),
            Buffer.from(put, 'latin1'),
            bytes.subarray(Math.min(bytes.length, place + remove)),
          ]);
        }
        const found = scanned(bytes);
        if (!found) return;
        taken += 1;
        expect(JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))).toHaveLength(found.length);
        expect(found).toEqual(read(bytes));
      }),
      { numRuns: 500 },
    );
    expect(taken).toBeGreaterThan(100);
  });
});

const names = [...Object.entries(collections.users.fields).map(([name, { original }]) => original ?? name), 'new one', 'New-One'];
const records = fc
  .subarray(names, { minLength: 1 })
  .chain((some) =>
    fc
      .array(fc.tuple(...some.map(() => fc.constantFrom('', 'x', 'é', null, 7, true, [1]))), { minLength: 1, maxLength: 4 })
      .map((rows) => rows.map((values) => Object.fromEntries(some.map((name, index) => [name, values[index]])))),
  );

test.each([[[]], [Object.keys(collections.users.fields)]])(
  'the decoder makes columns of what it makes rows of, with the same findings, revealing %j',
  (reveal) => {
    fc.assert(
      fc.property(fc.array(records, { minLength: 1, maxLength: 3 }), (answers) => {
        const [byColumns, byRows] = [new Decoder(collections.users, reveal), new Decoder(collections.users, reveal)];
        for (const answer of answers) {
          const json = Buffer.from(JSON.stringify(answer));
          const list = readList('', { status: 200, body: json });
          const found = scan(json);
          const table = found && byColumns.decodeColumns(found);
          if (!table) {
            expect(() => byColumns.decode(list)).toThrow();
            expect(() => byRows.decode(list)).toThrow();
            continue;
          }
          const rows = byRows.decode(list).rows();
          expect(table.rows()).toEqual(rows);
          expect(table.rows().map(Object.keys)).toEqual(rows.map(Object.keys));
        }
        expect(byColumns.findings.notText).toEqual(byRows.findings.notText);
        expect(byColumns.findings.missing).toEqual(byRows.findings.missing);
        expect([...byColumns.findings.unknown]).toEqual([...byRows.findings.unknown]);
      }),
    );
  },
);
