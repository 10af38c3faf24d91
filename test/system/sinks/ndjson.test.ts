import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Column, Row } from '../../../src/core/index.js';
import { ndjson, type NdjsonOptions } from '../../../src/sinks/index.js';
import { column, recording, writeAll } from '../../support/sinks.js';
import { temporaryFolder } from '../../support/temporary.js';

async function written(columns: readonly Column[], rows: readonly Row[], options: Partial<NdjsonOptions> = {}): Promise<string> {
  const folder = await temporaryFolder();
  await writeAll(ndjson({ path: 'x.ndjson', ...options }, recording(folder)), columns, rows);
  return await readFile(join(folder, 'x.ndjson'), 'utf8');
}

describe('ndjson', () => {
  test('writes one object per line, in column order', async () => {
    expect(await written([column('b'), column('a')], [{ a: '1', b: '2' }, { b: null }])).toBe('{"b":"2","a":"1"}\n{"b":null,"a":null}\n');
  });

  test('keeps the text of the service by default', async () => {
    expect(await written([column('n', 'integer')], [{ n: '007' }])).toBe('{"n":"007"}\n');
  });

  test('keeps numbers that steps made, next to the text of the service', async () => {
    const columns = [column('n', 'integer', { cast: true }), column('x', 'decimal', { cast: true }), column('t', 'integer')];
    const rows = [{ n: 2n ** 53n + 1n, x: 0.1, t: '007' }, { n: null, x: 1e21, t: '' }, { n: 9n }];
    expect(await written(columns, rows)).toBe(
      '{"n":9007199254740993,"x":0.1,"t":"007"}\n{"n":null,"x":1e+21,"t":""}\n{"n":9,"x":null,"t":null}\n',
    );
  });

  test('writes whole numbers of 64 bits digit by digit', async () => {
    expect(await written([column('n', 'integer')], [{ n: '9007199254740993' }], { types: 'typed' })).toBe('{"n":9007199254740993}\n');
  });

  test('writes instants in ISO 8601, days as YYYY-MM-DD, flags and decimals bare', async () => {
    const columns = [column('t', 'timestamp'), column('d', 'date'), column('f', 'flag'), column('x', 'decimal')];
    const line = await written(columns, [{ t: '0', d: '19700101', f: 'no', x: '1.50' }], { types: 'typed' });
    expect(line).toBe('{"t":"1970-01-01T00:00:00.000Z","d":"1970-01-01","f":false,"x":1.5}\n');
  });

  test('writes a column named __proto__ like any other', async () => {
    const row = JSON.parse('{"__proto__":"x"}');
    expect(await written([column('__proto__'), column('constructor')], [row, {}])).toBe(
      '{"__proto__":"x","constructor":null}\n{"__proto__":null,"constructor":null}\n',
    );
  });

  test('keeps a lone surrogate, which JSON can escape', async () => {
    expect(await written([column('a')], [{ a: '\ud83d' }])).toBe('{"a":"\\ud83d"}\n');
  });

  test('rejects a number that JSON cannot hold', async () => {
    expect(await written([column('x', 'decimal', { cast: true })], [{ x: NaN }, { x: 1 }], { types: 'typed' })).toBe('{"x":1}\n');
  });
});
