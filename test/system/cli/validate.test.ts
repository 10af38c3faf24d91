import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lintPipelines } from '../../../src/index.js';
import { cli } from '../../support/cli.js';
import { folderWith } from '../../support/temporary.js';

/** Pipeline files with faults; what `validate` says of NAME.yaml stands in NAME.txt. */
const folder = fileURLToPath(new URL('../../broken', import.meta.url));
const files = await readdir(folder);
const names = files.filter((file) => file.endsWith('.yaml')).map((file) => file.slice(0, -'.yaml'.length));

const sound = 'name: p\nfrom: users\nto:\n  - csv: { path: out.csv }\n';
const doubtful = "name: d\nfrom: leads\nsteps:\n  - filter: is_valid == 'yes'\nto:\n  - csv: { path: d.csv }\n";

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

  test('notes where != is true for null, which no warning and no --strict refuses', async () => {
    const cwd = await folderWith({ 'p.yaml': `${sound.replace('to:', "steps:\n  - filter: email != ''\nto:")}` });
    const { code, stderr } = await cli(['validate', 'p.yaml', '--strict'], { cwd });
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^p\.yaml: line 4: != is also true where email is null/m),
    });
  });

  test('reads no file that is much longer than a pipeline', async () => {
    const cwd = await folderWith({ 'rows.yaml': 'name: x\nfrom: leads\nsteps:\n' + '  - dedupe: {}\n'.repeat(150_000) });
    expect(await cli(['validate', 'rows.yaml'], { cwd })).toEqual({
      code: 78,
      stdout: '',
      stderr:
        'rows.yaml:1:1 a pipeline file may be at most 1 MB; is this the right file?\nleadstream: E_SPEC_YAML: 1 problem in 1 file. Correct the YAML at the place named.\n',
    });
  });

  test('needs nothing of the environment, says what it did not check, and asks for it with --env-check', async () => {
    const asking = [
      'name: p',
      'service:',
      '  base_url: ${URL}',
      "  auth: { rest_api_key: '${file:/nowhere/key}' }",
      '  limit: ${LIMIT}',
      'from: leads',
      'steps:',
      '  - filter: ${CONDITION:?which rows}',
      'to:',
      "  - csv: { path: '${OUT:-out}/${FILE}' }",
      '',
    ];
    const cwd = await folderWith({ 'p.yaml': asking.join('\n') });
    expect(await cli(['validate', 'p.yaml'], { cwd })).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('p.yaml: not set here: URL, file:/nowhere/key, LIMIT, CONDITION, FILE;'),
    });
    const { code, stderr } = await cli(['validate', 'p.yaml', '--env-check'], { cwd });
    expect([code, stderr.match(/^p\.yaml:\d+:\d+/gm)]).toEqual([78, ['3:13', '4:25', '5:10', '8:13', '10:18'].map((at) => `p.yaml:${at}`)]);
    expect(stderr).toContain('E_SPEC_REFERENCE: 5 problems in 1 file.');
  });

  test.each([
    ['LEADSTREAM_BASE_URL', 'notaurl', 'must be an http or https URL'],
    ['LEADSTREAM_BASE_URL', 'http://me:secret@leads.example', 'must not contain user info, a query or a fragment'],
    ['HTTP_PROXY', 'socks5://reader:secret@127.0.0.1:1', 'must be the address of an HTTP proxy, like http://proxy.example:3128'],
  ])('takes no address in %s like %s, and no other command does', async (variable, address, problem) => {
    const cwd = await folderWith({ 'p.yaml': sound });
    const env = { LEADSTREAM_BASE_URL: 'http://127.0.0.1:9', LEADSTREAM_REST_API_KEY: 'a-key-of-nobody', [variable]: address };
    const validate = ['validate', 'p.yaml', ...(variable === 'HTTP_PROXY' ? ['--env-check'] : [])];
    for (const words of [validate, ['explain', 'p.yaml'], ['run', 'p.yaml'], ['fetch', 'users'], ['doctor']]) {
      const { code, stderr } = await cli(words, { cwd, env });
      expect([words[0], code, stderr]).toEqual([words[0], 78, expect.stringContaining(`${variable} ${problem}`)]);
      expect(stderr).not.toContain('secret');
    }
  });

  test('takes the key of mask: hmac for one that is set elsewhere, unless it is there and too short', async () => {
    const cwd = await folderWith({ 'p.yaml': sound.replace('to:', 'steps:\n  - mask: { email: hmac }\nto:') });
    const message = 'LEADSTREAM_HMAC_KEY';
    expect(await cli(['validate', 'p.yaml'], { cwd })).toMatchObject({ code: 0, stderr: expect.stringContaining(message) });
    expect(await cli(['validate', 'p.yaml', '--env-check'], { cwd })).toMatchObject({ code: 78, stderr: expect.stringContaining(message) });
    const short = await cli(['validate', 'p.yaml'], { cwd, env: { LEADSTREAM_HMAC_KEY: 'short' } });
    expect(short).toMatchObject({ code: 78, stderr: expect.stringMatching(/^p\.yaml:4:20 /) });
  });

  test('foresees what run refuses: to write over the file itself, and a file that is not there', async () => {
    const cwd = await folderWith({ 'self.yaml': sound.replace('out.csv', 'self.yaml'), 'a.yaml': sound });
    const env = { LEADSTREAM_BASE_URL: 'http://127.0.0.1:9', LEADSTREAM_REST_API_KEY: 'a-key-of-nobody' };
    const both = async (...files: string[]) =>
      Promise.all(
        ['validate', 'run'].map(async (verb) => (await cli([verb, '--set', 'service.retry.attempts=1', ...files], { cwd, env })).code),
      );
    expect((await cli(['validate', 'self.yaml'], { cwd })).stderr).toContain(`self.yaml:4:10 ${join(cwd, 'self.yaml')} is this file`);
    expect(await both('self.yaml')).toEqual([78, 2]);
    expect(await both('a.yaml', 'no.yaml')).toEqual([78, 78]);
    // What has not the name of a file may be a key.
    expect(await both('a.yaml', 'a-word')).toEqual([2, 2]);
  });

  test('says what a merge costs', async () => {
    const cwd = await folderWith({ 'm.yaml': sound.replace('csv: { path: out.csv }', 'parquet: { path: t, mode: merge }') });
    const { code, stderr } = await cli(['validate', 'm.yaml'], { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('m.yaml: to[0] parquet: merge writes each file') });
  });

  test('checks each file once, and says that a folder is none', async () => {
    const cwd = await folderWith({ 'b.yaml': sound, 'in/c.yaml': sound });
    const { stderr } = await cli(['validate', 'b.yaml', './b.yaml'], { cwd });
    expect(stderr.match(/b\.yaml: ok/g)).toHaveLength(1);
    const folder = await cli(['validate', 'in/'], { cwd });
    expect(folder).toMatchObject({
      code: 78,
      stderr: expect.stringMatching(/^in\/:1:1 is a folder; name the files in it\nleadstream: E_SPEC_FILE: 1 problem in 1 file\. /),
    });
  });

  test('prints one document for machines with --format json', async () => {
    const cwd = await folderWith({ 'd.yaml': doubtful, 'q.yaml': 'name: q\nfrom: [' });
    const { code, stdout, stderr } = await cli(['validate', 'd.yaml', 'q.yaml', '--format', 'json'], { cwd });
    expect({ code, stderr }).toEqual({ code: 78, stderr: '' });
    const finding = { message: expect.any(String) };
    const chain = { name: 'd', from: 'leads', steps: ['filter'], to: ['csv'], columns: expect.arrayContaining(['lead_id']) };
    const doubt = { ...finding, severity: 'warning', code: 'W_SPEC_FLAG', line: 4, column: 13 };
    const fault = { ...finding, severity: 'error', code: 'E_SPEC_YAML', line: 2, column: 8 };
    expect(JSON.parse(stdout)).toEqual({
      ok: false,
      files: [
        { file: 'd.yaml', ok: true, findings: [doubt], pipelines: [chain], unset: ['LEADSTREAM_BASE_URL'] },
        { file: 'q.yaml', ok: false, findings: [fault], pipelines: [], unset: [] },
      ],
    });
  });
});

test('lintPipelines tells programs what is wrong instead of throwing', async () => {
  const cwd = await folderWith({ 'p.yaml': sound });
  expect(await lintPipelines('p.yaml', { cwd, env: {} })).toMatchObject({
    ok: true,
    findings: [],
    pipelines: [{ name: 'p', from: 'users' }],
  });
  expect(await lintPipelines('no.yaml', { cwd })).toMatchObject({ ok: false, findings: [{ code: 'E_SPEC_FILE', line: 1 }] });
});
