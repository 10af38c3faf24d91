import * as fc from 'fast-check';
import { JsonText, readJson } from '../../../src/json/index.js';
import { literal, nested } from '../../support/json.js';

const read = (json: string) => readJson(Buffer.from(json));

/** What `JSON.parse` makes of what was read. */
function parsed(value: ReturnType<typeof readJson>): unknown {
  if (value instanceof JsonText) return JSON.parse(value.text);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(parsed);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, parsed(item)]));
}

function native(json: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(json) };
  } catch {
    return undefined;
  }
}

describe('readJson', () => {
  test.each([['9007199254740993'], ['1.10'], ['1e400'], ['-0'], ['true']])('keeps %s as it is written', (literal) => {
    expect(read(`[{"a" : ${literal} }]`)).toEqual([{ a: new JsonText(literal) }]);
    expect(read(`{"a":"x","b":${literal}}`)).toEqual({ a: 'x', b: new JsonText(literal) });
  });

  test.each([
    ['[12345678901234567890, {"a": 1.10}]', '[12345678901234567890,{"a":1.10}]'],
    ['{ "b" : [ ] ,\n"a" : -0 }', '{"b":[],"a":-0}'],
    ['{"2":1,"1":2,"1":3}', '{"2":1,"1":2,"1":3}'],
    ['["\\u00e9\\/\\ud83d", " 1 , 2 "]', '["é/\\ud83d"," 1 , 2 "]'],
  ])('keeps numbers and order within %s', (json, text) => {
    expect(read(`[{"a":${json}}]`)).toEqual([{ a: new JsonText(text) }]);
  });

  test('finds in all JSON what JSON.parse does', () => {
    const document = fc.oneof(
      fc.json(),
      literal,
      nested,
      fc.array(nested, { maxLength: 4 }).map((records) => `[${records.join()}]`),
    );
    fc.assert(
      fc.property(document, (json) => {
        expect(parsed(read(json))).toEqual(JSON.parse(json));
      }),
    );
  });

  test('takes nothing that JSON.parse refuses, and refuses nothing that it takes', () => {
    const damage = fc.record({
      at: fc.nat(200),
      remove: fc.nat(2),
      put: fc.constantFrom(...'"\\,:{}[] \n\x0101.-+eEtrulnfas', '\\u00', '\\x'),
    });
    fc.assert(
      fc.property(
        fc.oneof(
          nested,
          fc.array(nested, { maxLength: 3 }).map((records) => `[${records.join()}]`),
        ),
        fc.array(damage, { minLength: 1, maxLength: 3 }),
        (json, damages) => {
          let text = json;
          for (const { at, remove, put } of damages) {
            const place = at % (text.length + 1);
            text = text.slice(0, place) + put + text.slice(place + remove);
          }
          const wanted = native(text);
          const found = read(text);
          expect(found === undefined).toBe(wanted === undefined);
          if (wanted) expect(parsed(found)).toEqual(wanted.value);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('reads what is deep, in a record and around it', () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    expect(read(`[{"a":${deep}}]`)).toEqual([{ a: new JsonText(deep) }]);
    expect(read(deep)).toEqual([new JsonText(deep.slice(1, -1))]);
    expect(read(deep.slice(1))).toBeUndefined();
  });

  test('leaves a byte order mark out, and refuses what is no UTF-8', () => {
    expect(read('\ufeff[]')).toEqual([]);
    expect(read('\ufeff{"a":1}')).toEqual({ a: new JsonText('1') });
    expect(readJson(Buffer.from('["\xff"]', 'latin1'))).toBeUndefined();
  });

  test('makes records that inherit nothing of fields called like parts of an object', () => {
    const [record] = read('[{"__proto__":{"polluted":1},"constructor":2}]') as readonly [Readonly<Record<string, unknown>>];
    expect(Object.entries(record)).toEqual([
      ['__proto__', new JsonText('{"polluted":1}')],
      ['constructor', new JsonText('2')],
    ]);
    expect(Object.prototype).not.toHaveProperty('polluted');
  });
});
