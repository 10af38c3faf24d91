import fc from 'fast-check';
import { KeyMap } from '../../../src/flow/index.js';
import { anyText } from '../../support/texts.js';

/** Beyond what a segment holds. */
const many = 100_000;

function setOf(texts: Iterable<string>): KeyMap {
  const set = new KeyMap();
  for (const text of texts) set.add(text);
  return set;
}

describe('KeyMap', () => {
  test('takes hundreds of thousands of keys for new once and for known ever after', () => {
    const set = new KeyMap();
    let known = 0;
    for (let n = 0; n < many; n += 1) if (!set.add(`lead-${n}`)) known += 1;
    expect(known).toBe(0);
    for (let n = 0; n < many; n += 10) if (!set.add(`lead-${n}`)) known += 1;
    expect(known).toBe(many / 10);
    expect(set.size).toBe(many);
  });

  test('needs at most 32 bytes per key at every size from 4,000 on', () => {
    const set = new KeyMap();
    const worst = { ratio: 0, size: 0 };
    for (let size = 1; size <= 0.4 * many; size += 1) {
      set.add(String(size));
      if (size < 4000 || size % 997 !== 0) continue;
      const ratio = set.bytes / size;
      if (ratio > worst.ratio) Object.assign(worst, { ratio, size });
    }
    expect(worst.ratio).toBeLessThanOrEqual(32);
  });

  test.each([
    ['trailing NULs', ['', '\0', '\0\0', '\0\0\0', 'a', 'a\0', 'a\0\0', '\0a']],
    ['prefixes', Array.from({ length: 200 }, (_, length) => 'x'.repeat(length))],
    ['one differing character at any place', Array.from({ length: 64 }, (_, at) => `${'a'.repeat(at)}b${'a'.repeat(63 - at)}`)],
    ['case', ['straße', 'STRASSE', 'Strasse', 'strasse']],
    ['composed and decomposed accents', ['\u00e9', 'e\u0301', 'e']],
    ['code points beyond 16 bits and lone surrogates', ['😀', '😁', '\ud83d', '\ude00', '\ude00\ud83d']],
    ['code units that share their low byte', ['\u0141', '\u0041', '\u4100', '\u0100A']],
    ['numbers with leading zeros', ['1', '01', '001', '10', '100', '0']],
    ['what was made to collide under MurmurHash3', ['lead-0001-abcdef', 'lead-2001-\u17b6\u8e88\u807e\uc195ef']],
    ['order of the parts', ['ab', 'ba', 'abcdabcd', 'cdabcdab', 'aabb', 'bbaa']],
  ])('distinguishes %s', (_name, texts) => {
    expect(setOf(texts).size).toBe(new Set(texts).size);
  });

  test('has a secret of its own, which shows only in how its tables grow', () => {
    const bytes = (seed?: Uint32Array) => {
      const set = new KeyMap(seed);
      for (let n = 0; n < 3000; n += 1) set.add(`lead-${n}`);
      return set.bytes;
    };
    const each = Array.from({ length: 8 });
    expect(new Set(each.map(() => bytes())).size).toBeGreaterThan(1);
    expect(new Set(each.map(() => bytes(Uint32Array.of(1, 2, 3, 4)))).size).toBe(1);
  });

  test('agrees with Set on any texts, whatever its seed', () => {
    const text = fc.oneof(anyText(), fc.string({ maxLength: 2 }), fc.nat(50).map(String));
    const seed = fc.uint32Array({ minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(fc.array(text, { maxLength: 400 }), seed, (texts, words) => {
        const [set, model] = [new KeyMap(words), new Set<string>()];
        for (const added of texts) {
          expect(set.add(added)).toBe(!model.has(added));
          model.add(added);
        }
        expect(set.size).toBe(model.size);
      }),
    );
  });

  test('keeps a number and two words of each key when it grows, and when it is stored', () => {
    const map = new KeyMap(undefined, 2);
    const wordsOf = (n: number) => Uint32Array.of(n, 2 ** 32 - 1 - n);
    for (let n = 0; n < 20_000; n += 1) {
      expect(map.open(`lead-${n}`)).toBe(-1);
      map.put(n);
      map.keep(wordsOf(n), 0);
    }
    const entries = Uint32Array.from(Array.from(map.entries(), (entry) => [...entry]).flat());
    const stored = new KeyMap(map.seed, 2, 20_000);
    stored.restore(entries);
    for (const each of [map, stored]) {
      expect(each.size).toBe(20_000);
      expect(each.bytes / each.size).toBeLessThanOrEqual(40);
      for (let n = 0; n < 20_000; n += 7)
        expect([each.get(`lead-${n}`), each.has(wordsOf(n), 0), each.has(wordsOf(n + 1), 0)]).toEqual([n, true, false]);
    }
  });
});
