import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { runCli } from '../../../src/cli/run-cli.js';
import { cli } from '../../support/cli.js';
import { serviceOf, workplace } from '../../support/services.js';

/** What a hostile service could call a field: it clears the screen, forges a line, turns the direction of writing. */
const odd = '\u001b[2J\u009b1mfield\nleadstream: E_RUN_LOCKED: forged\u202e\u2028\u007f';

/** Everything that steers a terminal, besides the ends of our own lines. */
const steering = /[^\P{Cc}\n]|[\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

const users = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ uid: String(index), email: 'a@b.c', affid: '1', [odd]: 'x', late: '1' }));

describe('what comes from outside is printed without control characters', () => {
  test('names of fields, in warnings, the summary and JSON, which has them as they are', async () => {
    const [from, cwd] = [await serviceOf({ users: users(3) }), await workplace('from: users\nto:\n  - csv: { path: users.csv }')];
    const [text, json] = [
      await cli(['run', 'p.yaml', '--report', 'report.json'], { cwd, env: from.env }),
      await cli(['run', 'p.yaml', '--log-format', 'json'], { cwd, env: from.env }),
    ];
    expect([text.code, json.code]).toEqual([0, 0]);
    expect(text.stderr).toContain('unknown fields: \\u001b[2J\\u009b1mfield\\nleadstream: E_RUN_LOCKED: forged\\u202e');
    expect(text.stderr).not.toMatch(/^leadstream: E_/m);
    const report = await readFile(join(cwd, 'report.json'), 'utf8');
    for (const shown of [text.stderr, json.stderr, report]) expect(shown).not.toMatch(steering);
    const findings = { unknown: expect.objectContaining({ [odd]: 3 }) };
    const last: unknown = JSON.parse(json.stderr.trim().split('\n').at(-1) ?? '');
    expect([last, JSON.parse(report)]).toMatchObject([{ report: { findings } }, { findings }]);
    expect((await readFile(join(cwd, 'users.csv'), 'utf8')).includes(odd)).toBe(true);
  });

  test.each([
    ['csv', '"\\u001b[2J\\u009b1mfield'],
    ['ndjson', '"\\u001b[2J\\u009b1mfield\\n'],
    ['table', ' \\u001b[2J\\u009b1mfield'],
  ])('rows as %s on a terminal; a pipe gets them as they are', async (format, shown) => {
    const from = await serviceOf({ users: users(3) });
    const cwd = await workplace(`from: users\nto:\n  - stdout: { format: ${format}, max_width: 90 }`);
    const terminal = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
    const { signal } = new AbortController();
    expect(await runCli(['run', 'p.yaml', '--quiet'], { env: from.env, cwd, stdout: terminal, stderr: new PassThrough(), signal })).toBe(0);
    const text = String(terminal.read());
    expect(text).toContain(shown);
    expect(text).not.toMatch(steering);
    const piped = await cli(['run', 'p.yaml', '--quiet'], { cwd, env: from.env });
    if (format === 'csv') expect(piped.stdout.includes(odd)).toBe(true);
    if (format === 'ndjson') expect(JSON.parse(`[${text.trim().replaceAll('\n', ',')}]`)).toEqual(users(3));
  });

  test('names of files and of keys, in every message about them', async () => {
    const cwd = await workplace(`from: users\n"step\\e[2J\\ns": 1\nto:\n  - csv: { path: "x" }`);
    const name = 'a\u001b[2J\nq.yaml:1:1 forged.yaml';
    await writeFile(join(cwd, name), 'name: ???');
    for (const words of [
      ['validate', 'p.yaml'],
      ['validate', name],
      ['run', name],
      ['run', `no${name}`],
      ['runs', name],
      ['verify', name],
    ]) {
      const { code, stderr } = await cli([...words, '--log-level', 'debug'], {
        cwd,
        env: { LEADSTREAM_BASE_URL: 'https://data.example', LEADSTREAM_REST_API_KEY: 'a-key-of-tests' },
      });
      expect(code).not.toBe(0);
      expect(stderr).not.toBe('');
      expect(stderr).not.toMatch(steering);
      expect(stderr).not.toMatch(/^q\.yaml/m);
    }
  });

  test('names of strange files in a table, and what its manifest says', async () => {
    const [from, cwd] = [await serviceOf({ users: users(3) }), await workplace('from: users\nto:\n  - parquet: { path: lake/users }')];
    expect((await cli(['run', 'p.yaml'], { cwd, env: from.env })).code).toBe(0);
    await writeFile(join(cwd, 'lake', 'users', 'a\u001b[2J\nb.parquet'), '');
    const { code, stderr } = await cli(['verify', 'lake/users'], { cwd });
    expect({ code, steers: steering.test(stderr) }).toEqual({ code: 65, steers: false });
    const runs = await cli(['runs', 'lake/users', '--json'], { cwd });
    expect(runs.stdout).not.toMatch(steering);
    expect(JSON.parse(runs.stdout)).toHaveProperty('manifest');
  });
});
