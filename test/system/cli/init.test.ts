import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipelineSchema } from '../../../src/index.js';
import { cli } from '../../support/cli.js';
import { temporaryFolder, visible } from '../../support/temporary.js';

describe('init', () => {
  test.each([
    ['leads', 'parquet'],
    ['bridges', 'csv'],
    ['areacodes', 'ndjson'],
    ['links', 'stdout'],
    ['users', 'parquet'],
  ])('writes a file for %s to %s in which nothing is wrong or doubtful', async (from, to) => {
    const cwd = await temporaryFolder();
    expect(await cli(['init', 'night', '--from', from, '--to', to], { cwd })).toMatchObject({ code: 0, stdout: '' });
    const { code, stderr } = await cli(['validate', 'night.yaml', '--strict'], { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(`night.yaml: ok, ${from} > dedupe`) });
    expect(
      (await readFile(join(cwd, 'night.yaml'), 'utf8')).split('\n').every((line) => line.length < 80 || line.includes('$schema')),
    ).toBe(true);
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

  test('overwrites nothing, and takes no path for a name', async () => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, 'night.yaml'), 'mine');
    await writeFile(join(cwd, '.env.example'), 'mine, too');
    expect(await cli(['init', 'night'], { cwd })).toMatchObject({ code: 2, stderr: expect.stringContaining('night.yaml already exists') });
    const message = 'a name consists of letters, digits, dots, dashes and underscores';
    expect(await cli(['init', '../up'], { cwd })).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
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
});
