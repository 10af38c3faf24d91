import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { recoverRuns } from '../../../src/run/index.js';
import { killedBefore } from '../../support/killed.js';
import { leads, pipelineText, serviceOf } from '../../support/services.js';
import { temporaryFolder, visible } from '../../support/temporary.js';

describe('a run that is killed while it commits', () => {
  const body = [
    'from: leads',
    'steps: [{ cast: { types: { age: integer } } }]',
    'on_error: reject',
    'rejects: { max: 100% }',
    'to:',
    '  - csv: { path: a.csv }',
    '  - ndjson: { path: a.ndjson }',
  ].join('\n');

  /** The rejects and both files are renamed. */
  test.each([1, 2, 3])('has its rejects when it was recovered (before rename %d)', async (killedAt) => {
    const from = await serviceOf({ leads: leads(20, (index) => ({ age: index % 4 === 0 ? 'old' : '3' })) });
    const cwd = await temporaryFolder();
    const rejected = async (cwd: string) => {
      const [name = ''] = (await visible(cwd)).filter((name) => name.endsWith('.rejects.ndjson'));
      return (await readFile(join(cwd, name), 'utf8')).split('\n').length - 1;
    };
    await writeFile(join(cwd, 'p.yaml'), pipelineText(body));
    expect(await killedBefore(killedAt, ['run', 'p.yaml'], { cwd, env: from.env })).toBe(true);
    expect(await recoverRuns(join(cwd, '.leadstream'))).toEqual(['test']);
    expect(await rejected(cwd)).toBe(5);
  });
});
