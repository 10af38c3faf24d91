import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { pipelineSchema } from '../../../src/index.js';
import { cli } from '../../support/cli.js';
import { service } from '../../support/services.js';
import { temporaryFolder, visible } from '../../support/temporary.js';

/** The joins that each collection offers. */
const joins = { leads: ['bridges', 'areacodes', 'users'], bridges: ['users'], areacodes: [], links: ['bridges', 'users'], users: [] };

/** Every collection with each of its joins and with all, to each destination in turn. */
const choices = Object.entries(joins)
  .flatMap(([from, names]) => [...new Set(['', ...names, names.join(',')])].map((join): readonly [string, string] => [from, join]))
  .map(([from, join], index) => ({ from, join, to: ['parquet', 'csv', 'ndjson', 'stdout'][index % 4] ?? '' }));

describe('init', () => {
  test.each(choices)('writes a file for %j in which nothing is wrong or doubtful', async ({ from, join: names, to }) => {
    const cwd = await temporaryFolder();
    const words = ['init', 'night', '--from', from, ...(names === '' ? [] : ['--join', names]), '--to', to];
    expect(await cli(words, { cwd })).toMatchObject({ code: 0, stdout: '' });
    const { code, stderr } = await cli(['validate', 'night.yaml', '--strict'], { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(`night.yaml: ok, ${from} > dedupe`) });
    expect(
      (await readFile(join(cwd, 'night.yaml'), 'utf8')).split('\n').every((line) => line.length < 80 || line.includes('$schema')),
    ).toBe(true);
  });

  test('writes a file that can be run as it is, with all joins', async () => {
    const [data, cwd] = [await service(), await temporaryFolder()];
    await cli(['init', 'night', '--join', 'bridges,areacodes,users', '--to', 'csv'], { cwd });
    const { code, stderr } = await cli(['run', 'night.yaml'], { cwd, env: data.env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('to[0] csv: 1,200 read = 1,200 written') });
    const [header] = (await readFile(join(cwd, 'out/night.csv'), 'utf8')).split('\n');
    expect(header).toMatch(/,bridge_title,bridge_niche,.*area_area_code,area_city_population,user_affid$/);
  });

  test('names the schema for editors, what the environment has to set, and what is not for version control', async () => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, '.gitignore'), 'node_modules\n/out\n.env');
    const { stderr } = await cli(['init', 'night'], { cwd });
    expect(stderr).toContain('.gitignore: added .leadstream/\n');
    expect(await readFile(join(cwd, '.gitignore'), 'utf8')).toBe('node_modules\n/out\n.env\n.leadstream/\n');
    expect(await readFile(join(cwd, '.env.example'), 'utf8')).toContain('\nLEADSTREAM_BASE_URL=\n');
    const [, schema = ''] = /^# yaml-language-server: \$schema=(.+)$/m.exec(await readFile(join(cwd, 'night.yaml'), 'utf8')) ?? [];
    expect(JSON.parse(await readFile(schema, 'utf8'))).toEqual(JSON.parse(JSON.stringify(await pipelineSchema())));
  });

  test('overwrites nothing', async () => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, 'night.yaml'), 'mine');
    await writeFile(join(cwd, '.env.example'), 'mine, too');
    const refused = await cli(['init', 'night'], { cwd });
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('night.yaml already exists') });
    expect(await visible(cwd)).toEqual(['.env.example', 'night.yaml']);
    expect(await cli(['init', 'day'], { cwd })).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('.env.example: exists, left unchanged'),
    });
    expect(await Promise.all(['night.yaml', '.env.example'].map((name) => readFile(join(cwd, name), 'utf8')))).toEqual([
      'mine',
      'mine, too',
    ]);
  });

  test.each([
    [['init', '../up'], 'a name consists of letters, digits, dots, dashes and underscores'],
    [['init', 'a', '--from', 'leads', '--join', 'links'], "unknown join of leads 'links'"],
    [['init', 'a', '--from', 'users', '--join', 'bridges'], 'users joins nothing'],
  ])('refuses %j and writes nothing', async (words, message) => {
    const cwd = await temporaryFolder();
    expect(await cli(words, { cwd })).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
    expect(await visible(cwd)).toEqual([]);
  });
});
