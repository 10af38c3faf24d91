import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readExactGroups } from '../../../src/parquet/index.js';
import { readGroups } from '../../../src/tables.js';
import { duckdb } from '../../support/duckdb.js';
import { temporaryFolder } from '../../support/temporary.js';

/** A file of two columns that DuckDB wrote. */
async function written(): Promise<string> {
  const path = join(await temporaryFolder(), 'leads.parquet');
  await duckdb(`COPY (SELECT range AS lead_id, 'sold' AS lead_status FROM range(3)) TO '${path}' (FORMAT parquet)`);
  return path;
}

async function rowsOf(path: string, columns?: readonly string[]) {
  const rows: unknown[] = [];
  for await (const group of readGroups(path, columns)) rows.push(...group);
  return rows;
}

test('a large row group of another program comes in parts', async () => {
  const path = join(await temporaryFolder(), 'others.parquet');
  const columns = `range AS id, CASE WHEN range % 3 > 0 THEN 'state ' || range % 7 END AS state`;
  await duckdb(`COPY (SELECT ${columns} FROM range(200000)) TO '${path}' (FORMAT parquet, ROW_GROUP_SIZE 150000)`);
  const [sizes, wrong]: [number[], unknown[]] = [[], []];
  for await (const rows of readExactGroups(path)) {
    const from = sizes.reduce((sum, size) => sum + size, 0);
    sizes.push(rows.length);
    for (const [index, { id, state }] of rows.entries()) {
      const number = from + index;
      if (id !== BigInt(number) || state !== (number % 3 > 0 ? `state ${number % 7}` : null)) wrong.push([number, id, state]);
    }
  }
  expect([Math.max(...sizes), sizes.length, wrong]).toEqual([65_536, 4, []]);
});

describe('the rows of a Parquet file', () => {
  test('come by the columns that are wanted', async () => {
    const path = await written();
    expect(await rowsOf(path)).toHaveLength(3);
    expect(await rowsOf(path, ['lead_id'])).toEqual([{ lead_id: 0n }, { lead_id: 1n }, { lead_id: 2n }]);
  });

  test('come again, from the first on, in each loop over what was asked for once', async () => {
    const groups = readGroups(await written());
    const lengths: number[] = [];
    for (let loop = 0; loop < 2; loop += 1) for await (const group of groups) lengths.push(group.length);
    expect(lengths).toEqual([3, 3]);
  });

  test('are refused where they cannot be read, with the path and what the system says', async () => {
    const [path, folder] = [await written(), await temporaryFolder()];
    const text = join(folder, 'leads.csv');
    await writeFile(text, 'lead_id\n1\n');
    const refused = (message: string) => expect.objectContaining({ code: 'E_DATA', message: expect.stringContaining(message) });
    await expect(rowsOf(join(folder, 'none.parquet'))).rejects.toThrow(refused('none.parquet: cannot be read as Parquet: ENOENT'));
    await expect(rowsOf(folder)).rejects.toThrow(refused(`${folder}: cannot be read as Parquet: EISDIR`));
    await expect(rowsOf(text)).rejects.toThrow(refused('leads.csv: cannot be read as Parquet'));
    const unknown = { code: 'E_USAGE', message: expect.stringContaining("leads.parquet: unknown column 'lead_idd'") };
    await expect(rowsOf(path, ['lead_idd'])).rejects.toMatchObject(unknown);
    await truncate(path, 40);
    await expect(rowsOf(path)).rejects.toThrow(refused('leads.parquet: cannot be read as Parquet'));
  });
});
