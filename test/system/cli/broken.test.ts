import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cli } from '../../support/cli.js';
import { temporaryFolder } from '../../support/temporary.js';

/** Pipeline files with faults; what `validate` says of NAME.yaml stands in NAME.txt. */
const folder = fileURLToPath(new URL('../../broken', import.meta.url));
const files = await readdir(folder);
const names = files.filter((file) => file.endsWith('.yaml')).map((file) => file.slice(0, -'.yaml'.length));

describe('validate', () => {
  test.each(names)('says where and what is wrong in test/broken/%s.yaml, and what to write', async (name) => {
    const { code, stdout, stderr } = await cli(['validate', `${name}.yaml`], { cwd: folder });
    const [, places, sum] = /^(.*\n)(leadstream: .*)\n$/s.exec(stderr.replaceAll(folder, '.')) ?? [];
    expect(places).toBe(await readFile(join(folder, `${name}.txt`), 'utf8'));
    const problems = places?.split('\n').filter((line) => line.startsWith(`${name}.yaml:`)).length;
    expect(sum).toMatch(
      new RegExp(`^leadstream: E_SPEC_\\w+(?:, E_SPEC_\\w+)?: ${problems} ${problems === 1 ? 'problem' : 'problems'} in 1 file\\.`),
    );
    expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
  });

  test('has a file for each output that is expected', () => {
    const expected = files.filter((file) => file.endsWith('.txt')).map((file) => file.slice(0, -'.txt'.length));
    expect(expected.toSorted()).toEqual(names.toSorted());
  });

  test('reads no file that is much longer than a pipeline', async () => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, 'rows.yaml'), 'name: x\nfrom: leads\nsteps:\n' + '  - dedupe: {}\n'.repeat(150_000));
    expect(await cli(['validate', 'rows.yaml'], { cwd })).toEqual({
      code: 78,
      stdout: '',
      stderr:
        'rows.yaml:1:1 a pipeline file may be at most 1 MB; is this the right file?\nleadstream: E_SPEC_YAML: 1 problem in 1 file. Correct the YAML at the place named.\n',
    });
  });
});
