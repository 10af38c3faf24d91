import { parseString } from 'fast-csv';
import { mkdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Column, Row, Value } from '../../../src/core/index.js';
import { csv, csvSink, type CsvOptions } from '../../../src/sinks/csv.js';
import { pageOf } from '../../support/pages.js';
import { column, recording, writeAll } from '../../support/sinks.js';
import { duckdb } from '../../support/duckdb.js';
import { filesBelow, temporaryFolder } from '../../support/temporary.js';

const two = [column('a'), column('b', 'text', { original: 'B B' })];

async function written(columns: readonly Column[], rows: readonly Row[], options: Partial<CsvOptions> = {}, context = {}): Promise<string> {
  const folder = await temporaryFolder();
  await writeAll(csv({ path: 'x.csv', ...options }, { ...recording(folder), ...context }), columns, rows);
  return await readFile(join(folder, 'x.csv'), 'utf8');
}

describe('csv', () => {
  test('writes the original names and one line per row', async () => {
    expect(await written(two, [{ a: '1', b: '2' }])).toBe('a,B B\n1,2\n');
  });

  test('writes snake_case names when asked', async () => {
    expect(await written(two, [], { naming: 'snake_case' })).toBe('a,b\n');
  });

  test('quotes quotes, delimiters and line breaks', async () => {
    expect(await written(two, [{ a: 'say "hi"', b: 'x,y\r\nz' }])).toBe('a,B B\n"say ""hi""","x,y\r\nz"\n');
  });

  test('writes null, an empty text and a missing field as empty cells', async () => {
    expect(await written([...two, column('c')], [{ a: null, b: '' }])).toBe('a,B B,c\n,,\n');
  });

  test('quotes the cells of a single column, since an empty line is no row', async () => {
    expect(await written([column('a')], [{ a: null }, { a: 'x' }])).toBe('"a"\n""\n"x"\n');
  });

  test('takes another delimiter', async () => {
    expect(await written(two, [{ a: 'x;y', b: 'x,y' }], { delimiter: ';' })).toBe('a;B B\n"x;y";x,y\n');
  });

  test('begins with a byte order mark when asked', async () => {
    expect((await written(two, [], { bom: true })).startsWith('\ufeffa,')).toBe(true);
  });

  test('leaves formulas alone by default', async () => {
    expect(await written(two, [{ a: '=1+1', b: '-5' }])).toContain('=1+1,-5\n');
  });

  test('disarms formulas when asked', async () => {
    expect(await written(two, [{ a: '=1+1', b: '@x' }], { escape_formulas: true })).toContain("'=1+1,'@x\n");
  });

  test('leaves numbers that are negative alone under escape_formulas with types: typed', async () => {
    expect(
      await written([column('a'), column('n', 'integer')], [{ a: '-x', n: '-5' }], { escape_formulas: true, types: 'typed' }),
    ).toContain("'-x,-5\n");
  });

  test('keeps the text of the service by default', async () => {
    expect(await written([column('f', 'flag'), column('d', 'date')], [{ f: 'Y', d: '20240131' }])).toContain('Y,20240131\n');
  });

  test('writes cast values in one form', async () => {
    const columns = [column('f', 'flag'), column('d', 'date'), column('t', 'timestamp'), column('n', 'integer')];
    const row = { f: 'Y', d: '20240131', t: '-1', n: '9007199254740993' };
    expect(await written(columns, [row], { types: 'typed' })).toContain('true,2024-01-31,1969-12-31T23:59:59.000Z,9007199254740993\n');
  });

  describe('with preset: excel', () => {
    const columns = [
      column('text'),
      column('share', 'decimal'),
      column('whole', 'integer'),
      column('at', 'timestamp'),
      column('day', 'date'),
    ];
    const row = { text: 'ab', share: '-1234.5', whole: '-7', at: '1709251199', day: '20240229' };

    test('writes decimals and times as Excel in the locale and zone reads them', async () => {
      const options = { preset: 'excel', locale: 'de-DE', time_zone: 'Europe/Berlin' } as const;
      const text = '\ufefftext;share;whole;at;day\nab;-1234,5;-7;2024-03-01 00:59:59;2024-02-29\n';
      expect(await written(columns, [row], options)).toBe(text);
    });

    test('is for en-US in UTC, and leaves to each option what is set', async () => {
      expect(await written(columns, [row], { preset: 'excel' })).toBe(
        '\ufefftext,share,whole,at,day\nab,-1234.5,-7,2024-02-29 23:59:59,2024-02-29\n',
      );
      const options = { preset: 'excel', delimiter: '|', types: 'text', bom: false, escape_formulas: false } as const;
      expect(await written(two, [{ a: '=1', b: '1.5' }], options)).toBe('a|B B\n=1|1.5\n');
    });

    test('quotes decimals where the delimiter is their sign', async () => {
      expect(await written(columns, [row], { preset: 'excel', locale: 'fr-FR', delimiter: ',' })).toContain('\nab,"-1234,5",-7,');
    });

    test.each<[Value, string]>([
      ['012', '="012"'],
      ['0.5', '0.5'],
      ['1234567890123456', '="1234567890123456"'],
      ['123456789012345', '123456789012345'],
      ['1E5', '="1E5"'],
      ['+1 (604) 555-0142', '="+1 (604) 555-0142"'],
      ['+1=2', "'+1=2"],
      ['=1+1', "'=1+1"],
      ['="012"', `'="012"`],
      ['-5', "'-5"],
      [12345678901234567n, '="12345678901234567"'],
    ])('keeps the text %p, and runs nothing', async (text, cell) => {
      const quoted = cell.includes('"') ? `"${cell.replaceAll('"', '""')}"` : cell;
      expect(await written(two, [{ a: text, b: 'x' }], { preset: 'excel' })).toBe(`\ufeffa,B B\n${quoted},x\n`);
      expect(await written(two, [{ a: 'x', b: text }], { preset: 'excel' })).toBe(`\ufeffa,B B\nx,${quoted}\n`);
    });
  });

  test('rejects a NUL character instead of losing it', async () => {
    const context = recording('');
    expect(await written(two, [{ a: 'x\0y', b: '' }], {}, { reject: context.reject })).toBe('a,B B\n');
    expect(context.rejects[0]?.[1]).toEqual({ field: 'a', reason: 'has a NUL character, which CSV cannot represent', page: 1, index: 0 });
  });

  test('rejects a lone surrogate instead of altering it', async () => {
    const context = recording('');
    await written(two, [{ a: '\ud83d', b: '' }], {}, { reject: context.reject });
    expect(context.rejects).toHaveLength(1);
  });

  test('takes columns named like properties of every object', async () => {
    expect(await written([column('constructor'), column('toString')], [{}])).toBe('constructor,toString\n,\n');
  });

  test('reads back as it was written, by DuckDB and by fast-csv', async () => {
    const rows = ['plain', '"', ',', 'a\nb', '😀', '007', ' spaces '].map((a, index) => ({ a, b: String(index) }));
    const folder = await temporaryFolder();
    await writeAll(csv({ path: 'x.csv', naming: 'snake_case' }, recording(folder)), two, rows);
    const path = join(folder, 'x.csv');

    expect(
      await duckdb(`SELECT * FROM read_csv('${path}', all_varchar = true, header = true, quote = '"', escape = '"', delim = ',')`),
    ).toEqual(rows);
    expect(await parseString(await readFile(path, 'utf8'), { headers: true }).toArray()).toEqual(rows);
  });

  test('writes small pages together, soon, and only to a file without its final name', async () => {
    const folder = await temporaryFolder();
    const writer = await csv({ path: 'x.csv' }, recording(folder));
    await writer.begin([column('a')]);
    const sizes: number[] = [];
    for (let number = 1; number <= 40; number += 1) {
      await writer.write(pageOf(number, [{ a: 'x'.repeat(10_000) }]));
      sizes.push((await stat(join(folder, '.x.csv.run-1.partial'))).size);
    }
    expect(new Set(sizes).size).toBe(3);
    sizes.forEach((size, index) => expect(10_000 * (index + 1) - size).toBeLessThan(150_000));
    expect(await filesBelow(folder)).not.toContain('x.csv');
    expect((await writer.prepare()).bytes).toBe(4 + 40 * 10_003);
    await writer.abort();
    expect(await filesBelow(folder)).toEqual([]);
  });

  test('fails the write in code when nobody takes rejected rows', async () => {
    const folder = await temporaryFolder();
    const sink = csv({ path: 'x.csv', types: 'typed' }, { baseDir: folder });
    await expect(writeAll(sink, [column('n', 'integer')], [{ n: 'x' }])).rejects.toMatchObject({
      code: 'E_SINK_VALUE',
      message: 'csv: field n is not a 64-bit integer in row 1 of page 1',
    });
  });

  test('refuses a folder in the place of its file', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'x.csv'));
    await expect(csv({ path: 'x.csv' }, { baseDir: folder })).rejects.toMatchObject({
      code: 'E_SINK_PATH',
      message: expect.stringContaining('is a folder'),
    });
  });

  test('refuses to replace a device', async () => {
    await expect(csv({ path: '/dev/null' })).rejects.toMatchObject({
      code: 'E_SINK_PATH',
      message: expect.stringContaining('not a regular file'),
    });
  });

  test.each([{ delimiter: ']' }, { delimiter: ',,' }, { delimiter: '"' }, { separator: ';' }])('refuses the option %j', (option) => {
    expect(csvSink.config().safeParse({ path: 'x.csv', ...option }).success).toBe(false);
  });
});
