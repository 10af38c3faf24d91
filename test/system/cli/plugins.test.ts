import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cli, startCli } from '../../support/cli.js';
import { pipelineText, service } from '../../support/services.js';
import { folderWith } from '../../support/temporary.js';

const leadstream = pathToFileURL(join(process.cwd(), 'dist', 'leadstream.js')).href;

/** What an author writes, who has installed the package. */
const plugin = `import { defineSink, defineStep } from '${leadstream}';
import { appendFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

const any = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } };
export const shout = defineStep('shout', {
  version: '1',
  options: any,
  needs: ({ field }) => [field],
  adds: { shouted: { type: 'text', sensitivity: 'plain' } },
  open: ({ field }) => (row) => ({ ...row, shouted: row[field]?.toUpperCase() }),
});

export const log = defineSink('log', {
  options: any,
  open: ({ path }, { baseDir }) => {
    const file = join(baseDir, path);
    return {
      write: (rows) => appendFile(file + '.part', rows.map((row) => row.lead_id + ' ' + row.shouted + '\\n').join('')),
      commit: () => rename(file + '.part', file),
      abort: () => rm(file + '.part', { force: true }),
    };
  },
});
`;

const body = `from: leads
steps:
  - shout: { field: lead_status }
to:
  - log: { path: leads.log }
  - csv: { path: leads.csv }
`;

const place = (text = body, module = plugin) => folderWith({ 'p.yaml': pipelineText(text), 'mine.mjs': module });

describe('--plugin', () => {
  test('brings steps and sinks of a module into files', async () => {
    const [cwd, from] = [await place(), await service()];
    const { code, stderr } = await cli(['run', 'p.yaml', '--plugin', './mine.mjs'], { cwd, env: from.env });
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('to[0] log') });
    const lines = (await readFile(join(cwd, 'leads.log'), 'utf8')).trim().split('\n');
    expect(lines).toHaveLength(1_200);
    expect(lines.every((line) => /^\d+ [^a-z]+$/.test(line))).toBe(true);
    expect(existsSync(join(cwd, 'leads.csv'))).toBe(true);
  });

  test('serves validate, explain, preview and test', async () => {
    const tests =
      "tests:\n  - name: one\n    given: { leads: [{ lead_id: '1', lead_status: sold }] }\n    expect: { rows: [{ shouted: SOLD }] }\n";
    const [cwd, from] = [await place(body + tests), await service()];
    for (const [verb, said] of [
      ['validate', 'leads > shout > log + csv'],
      ['explain', '+shouted text'],
      ['preview', '+shouted'],
      ['test', '1 test, 1 passed'],
    ] as const) {
      const { code, stdout, stderr } = await cli([verb, 'p.yaml', '--plugin', 'mine.mjs'], { cwd, env: from.env });
      expect({ verb, code, said: `${stdout}${stderr}`.replaceAll('\u00a0', ' ') }).toMatchObject({
        code: 0,
        said: expect.stringContaining(said),
      });
    }
    expect(existsSync(join(cwd, 'leads.log.part'))).toBe(false);
  });

  test.each<[string, string, string]>([
    ['exports nothing of ours', 'export const helper = () => 1;', 'exports no step or sink'],
    ['has a name of leadstream', plugin.replace("'shout'", "'select'"), "the step name 'select' is already used"],
  ])('is refused before any request when the module %s', async (_what, module, message) => {
    const [cwd, from] = [await place(body, module), await service()];
    const { code, stderr } = await cli(['run', 'p.yaml', '--plugin', 'mine.mjs'], { cwd, env: from.env });
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
    expect(from.requests).toEqual([]);
  });

  const commonJs = (exported: string) => `const { defineSink, defineStep } = require('${join(process.cwd(), 'dist', 'leadstream.js')}');
const any = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } };
const shout = defineStep('shout', { options: any, adds: { shouted: 'text' }, open: () => (row) => row });
const log = defineSink('log', { options: any, open: () => ({ write() {}, commit() {}, abort() {} }) });
${exported}`;
  test.each<[string, string, string]>([
    ['of an object', 'mine.mjs', `${plugin.replaceAll('export const', 'const')}export { shout }; export default { shout, log };`],
    ['of CommonJS', 'mine.cjs', commonJs('module.exports = { shout, log };')],
  ])('takes the exports %s', async (_what, file, module) => {
    const cwd = await place();
    await writeFile(join(cwd, file), module);
    const { code, stderr } = await startCli(['validate', 'p.yaml', '--plugin', file], { cwd }).finished;
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('p.yaml: ok, leads > shout > log + csv') });
  });

  test('ends with the command, whatever a module leaves open, and loses no output', async () => {
    const module = `${plugin}\nsetInterval(() => {}, 60_000);`;
    const cwd = await place(body.replace('  - csv: { path: leads.csv }\n', '  - stdout: { format: ndjson }\n'), module);
    const from = await service();
    const { code, stdout } = await startCli(['run', 'p.yaml', '--plugin=mine.mjs'], { cwd, env: from.env }).finished;
    expect([code, stdout.trim().split('\n').length]).toEqual([0, 1_200]);
    expect(await startCli(['validate', 'gone.yaml', '--plugin', 'mine.mjs'], { cwd }).finished).toMatchObject({ code: 78 });
  });
});
