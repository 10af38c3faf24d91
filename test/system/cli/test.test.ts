import { readdirSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { loadPipeline, testPipelines } from '../../../src/index.js';
import { cli, startCli } from '../../support/cli.js';
import { folderWith, temporaryFolder, visible } from '../../support/temporary.js';
import { everySecond } from '../../support/rung.js';

/** A pipeline file with tests. */
function file(
  tests: string,
  pipeline = 'from: leads\nsteps:\n  - derive: { low: lower(lead_status) }\nto:\n  - csv: { path: out/leads.csv }',
): string {
  return `name: night\n${pipeline}\ntests:\n${tests}\n`;
}

async function tested(text: string, ...words: readonly string[]) {
  const cwd = await folderWith({ 'p.yaml': text });
  return { cwd, ...(await cli(['test', 'p.yaml', ...words], { cwd })) };
}

const given = 'given: { leads: [{ lead_id: 1, lead_status: NEW }, { lead_id: 2, lead_status: Sold }] }';

describe('test', () => {
  test('passes for every pipeline that is shipped, each of which has tests', async () => {
    const files = everySecond(readdirSync('pipelines').filter((name) => name.endsWith('.yaml')));
    const { code, stdout, stderr } = await cli(['test', ...files.map((name) => `pipelines/${name}`)], { cwd: process.cwd() });
    expect(stderr).toMatch(/^\d+ tests?, \d+ passed, 0 failed\n$/);
    expect(code).toBe(0);
    for (const name of files) expect(stdout).toContain(`ok   pipelines/${name}:`);
  });

  test('leaves nothing behind, and needs nothing of the environment', async () => {
    const tests = file(`  - name: a\n    ${given}\n    expect: { rows: [{ low: new }, { low: sold }] }`);
    const [cwd, temporary] = [await folderWith({ 'p.yaml': tests }), await temporaryFolder()];
    const { code, stderr } = await startCli(['test', 'p.yaml'], { cwd, env: { TMPDIR: temporary } }).finished;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '1 test, 1 passed, 0 failed\n' });
    expect(await visible(cwd)).toEqual(['p.yaml']);
    expect(await readdir(temporary)).toEqual([]);
  });

  test('shows what came in place of what was expected', async () => {
    const { code, stdout, stderr } = await tested(
      file(`
  - name: rows
    ${given}
    expect: { rows: [{ low: old }, { low: sold }, { low: x, lead_id: 3, lead_status: null }] }
  - name: too few
    ${given}
    expect: { rows: [{ lead_id: 2 }] }
  - name: books, warnings and printed text
    ${given}
    expect: { books: { read: 3, written: 2 }, warnings: [W_SOURCE_CAP], stdout: x }
  - name: files
    ${given}
    expect:
      files:
        out/leads.csv: { rows: [{ lead_id: 1, lead_status: NEW }, { lead_id: 2, lead_status: sold }] }
        out/leads.csv.rejects.ndjson: { exists: false }
  - name: a column
    ${given}
    expect: { files: { out/leads.csv: { rows: [{ leadid: 1 }] } } }
  - name: success where a failure is expected
    ${given}
    expect: { error: E_GATE_EXPECT }
  - name: a failure where success is expected
    ${given}
    set: { expect.min_rows: 3 }
    expect: { rows: [{}, {}] }
  - name: another failure
    ${given}
    set: { expect.min_rows: 3 }
    expect: { error: E_GATE_REJECTS, message: nothing of that }
  - name: books of a refused run
    ${given}
    set: { expect.min_rows: 3 }
    expect: { error: E_GATE_EXPECT, books: { read: 2, written: 7 } }
  - name: books of a run that began not to write
    ${given}
    service: { faults: ["401"] }
    expect: { error: E_SOURCE_AUTH, books: { read: 0 } }
  - name: a file that is not there
    ${given}
    service: { faults: ["401"] }
    expect: { error: E_SOURCE_AUTH, files: { out/leads.csv: { rows: [] } } }`),
    );
    expect(code).toBe(1);
    expect(stdout.split('\n').map((line) => line.replace(/^(\w+ +p\.yaml):\d+/, '$1'))).toEqual([
      'FAIL p.yaml night: rows',
      '       rows: expected 3 rows, received 2 rows',
      '         row 1, low: expected "old", received "new"',
      '         row 3 is missing: { low: "x", lead_id: "3", lead_status: null }',
      'FAIL p.yaml night: too few',
      '       rows: expected 1 row, received 2 rows',
      '         row 1 was not expected: { lead_id: "1", lead_status: "NEW", low: "new" }',
      'FAIL p.yaml night: books, warnings and printed text',
      '       warnings: expected W_SOURCE_CAP, received none',
      '       books of to[0] csv: read: expected 3, received 2',
      '       stdout: expected x, received ',
      'FAIL p.yaml night: files',
      '       files out/leads.csv: expected 2 rows, received 2 rows',
      '         row 2, lead_status: expected "sold", received "Sold"',
      '       files out/leads.csv.rejects.ndjson: expected no file, received it exists',
      'FAIL p.yaml night: a column',
      '       files out/leads.csv: expected a column leadid, received none; did you mean lead_id?',
      'FAIL p.yaml night: success where a failure is expected',
      '       exit: expected 65, received 0, it published',
      'FAIL p.yaml night: a failure where success is expected',
      expect.stringMatching(/^ {7}exit: expected 0, received 65, E_GATE_EXPECT: expect\.min_rows: /),
      'FAIL p.yaml night: another failure',
      expect.stringMatching(/^ {7}error: expected E_GATE_REJECTS, received E_GATE_EXPECT: /),
      expect.stringMatching(/^ {7}message: expected nothing of that, received /),
      'FAIL p.yaml night: books of a refused run',
      '       books of to[0] csv: written: expected 7, received 2',
      'FAIL p.yaml night: books of a run that began not to write',
      '       books: expected those of the outputs, received the run ended before rows were counted',
      'FAIL p.yaml night: a file that is not there',
      '       files out/leads.csv: expected a file, received it does not exist',
      '',
    ]);
    expect(stderr).toBe('11 tests, 0 passed, 11 failed\n');
  });

  test('tells null from the word, in what is given, in rows and in files', async () => {
    const pipeline = [
      'from: leads',
      'steps:',
      '  - derive: { word: "blank(lead_status) ? \'null\' : lead_status" }',
      'to:',
      '  - ndjson: { path: out.ndjson, columns: [lead_id, lead_status, word] }',
      '  - csv: { path: out.csv, columns: [lead_id, lead_status, word] }',
      '  - parquet: { path: out, columns: [lead_id, lead_status, word] }',
    ].join('\n');
    const testOf = (name: string, row: string) => `
  - name: ${name}
    given: { leads: [{ lead_id: 1, lead_status: null }] }
    expect: { rows: [${row}], files: { out.ndjson: { rows: [${row}] }, out: { rows: [${row}] } } }`;
    const right = testOf('right', "{ lead_status: null, word: 'null' }");
    const text = `
  - name: text
    given: { leads: [{ lead_id: 1, lead_status: null }, { lead_id: 2, lead_status: 'null' }] }
    expect: { files: { out.csv: { text: "lead_id,lead_status,word\\n1,,null\\n2,null,null\\n" } } }`;
    expect(await tested(file(`${right}${text}`, pipeline))).toMatchObject({ code: 0 });
    const wrong = [
      [testOf('a word for null', "{ lead_status: 'null' }"), 'expected "null", received null'],
      [testOf('null for a word', '{ word: null }'), 'expected null, received "null"'],
    ] as const;
    for (const [one, shown] of wrong) {
      const { code, stdout } = await tested(file(one, pipeline));
      expect(code).toBe(1);
      expect(stdout).toContain(shown);
      for (const place of ['rows', 'out.ndjson', 'out']) expect(stdout).toContain(place);
    }
  });

  test('finds files by their paths as the pipeline has them', async () => {
    const rows = 'rows: [{ lead_id: 1 }]';
    const { code, stdout } = await tested(
      file(
        `
  - name: braces
    given: { leads: [{ lead_id: 1 }] }
    expect: { files: { 'o/{{ run.date }}/{{pipeline}}.csv': { ${rows} }, 'o/{{ run.id }}.csv': { ${rows} } } }
  - name: a day
    now: 2026-01-31T02:30:00Z
    given: { leads: [{ lead_id: 1 }] }
    expect: { files: { o/2026-01-31/night.csv: { ${rows} }, 'o/{{ run.date }}/night.csv': { rows: [{ lead_id: 2 }] } } }`,
        "from: leads\nto:\n  - csv: { path: 'o/{{ run.date }}/{{ pipeline }}.csv' }\n  - csv: { path: 'o/{{ run.id }}.csv' }",
      ),
    );
    expect(code).toBe(1);
    expect(stdout.match(/^(?:ok|FAIL).*$|files .*$/gm)).toEqual([
      expect.stringMatching(/^ok .* braces$/),
      expect.stringMatching(/^FAIL .* a day$/),
      expect.stringContaining('files o/{{ run.date }}/night.csv'),
    ]);
  });

  test('starts a run when it is told to, with the variables and values of the test', async () => {
    const pipeline = 'from: leads\nto:\n  - ndjson: { path: "out/${WHERE}-{{ run.date }}.ndjson" }';
    const test = `  - name: a
    given: { leads: [{ lead_id: 1 }, { lead_id: 2 }] }
    now: 2026-01-31T23:59:59Z
    env: { WHERE: here }
    set: { steps.0.filter: lead_id == '2' }
    expect: { files: { out/here-2026-01-31.ndjson: { rows: [{ lead_id: 2 }] } } }`;
    expect(await tested(file(test, pipeline))).toMatchObject({ code: 0, stdout: expect.stringContaining('ok   p.yaml') });
    expect(await tested(file(test.replace('2026-01-31T', '2026-02-31T'), pipeline))).toMatchObject({ code: 78 });
  });

  test('runs against the faults of serve', async () => {
    const rows = Array.from({ length: 6 }, (_, index) => `{ lead_id: ${index} }`).join(', ');
    const of = (service: string, expected: string) =>
      `  - name: '${service}'\n    given: { leads: [${rows}] }\n    service: { ${service} }\n    expect: ${expected}`;
    const { code, stdout } = await tested(
      file(
        [
          of('faults: ["401"]', '{ error: E_SOURCE_AUTH, files: { out/leads.csv: { exists: false } } }'),
          of('faults: ["429@page=1,times=1", "cut@page=1,times=1"]', '{ books: { written: 6 } }'),
        ].join('\n'),
      ),
    );
    expect(stdout.match(/^(?:ok|FAIL)/gm)).toEqual(['ok', 'ok']);
    expect(code).toBe(0);
  });

  test('takes rows from a folder beside the pipeline file, and serves collections of its own', async () => {
    const own = `service: { base_url: 'https://shop.example/v3', auth: { bearer: '\${SHOP_TOKEN}' }, rate_limit: 1/h }
collections:
  orders:
    path: /orders
    key: [no]
    rows: /data
    paging: { scheme: page, param: p, limit: n }
    fields: { no: text, total: decimal, city: { type: text, at: /address/city } }
from: orders
to:
  - ndjson: { path: orders.ndjson, types: typed }`;
    const cwd = await folderWith({
      'sub/p.yaml': file(
        `  - name: inline
    given: { orders: [{ no: 1, total: '12.50', address: { city: Berne } }] }
    expect: { rows: [{ no: 1, city: Berne }], files: { orders.ndjson: { rows: [{ no: 1, total: 12.5 }] } } }
  - name: files
    data: orders
    expect: { rows: [{ no: 7, total: '3' }, { no: 8, total: '4' }] }
  - name: both
    data: orders
    given: { orders: [] }
    expect: { exit: 0 }
  - name: nowhere
    data: order
    expect: { exit: 0 }`,
        own,
      ),
      'sub/orders/orders.ndjson': '{"no":"7","total":3}\n{"no":"8","total":4}\n',
    });
    const { code, stdout } = await cli(['test', 'sub/p.yaml'], { cwd });
    expect(stdout.match(/^(?:ok|FAIL)/gm)).toEqual(['ok', 'ok', 'FAIL', 'FAIL']);
    expect(stdout).toMatch(/E_DATA: orders has rows under given, and in orders\.ndjson of .*sub\/orders; keep one of them/);
    expect(stdout).toMatch(/E_DATA: .*sub\/order: is not a readable folder/);
    expect(code).toBe(1);
  });

  test('writes nowhere but in its own folder', async () => {
    const place = join(await folderWith({}), 'lake');
    const { code, stdout } = await tested(
      file(
        `  - name: a\n    ${given}\n    expect: { exit: 0 }\n  - name: b\n    ${given}\n    env: { LAKE: lake }\n    expect: { files: { lake/leads: { rows: [{ lead_id: 1 }, { lead_id: 2 }] } } }`,
        `from: leads\nto:\n  - parquet: { path: "\${LAKE:-${place}}/leads" }`,
      ),
    );
    expect(stdout).toMatch(/FAIL.*: a\n.*E_SPEC_INVALID: p\.yaml:4:\d+ .*lake\/leads is outside the folder of the test/);
    expect(stdout).toMatch(/^ok .*: b$/m);
    expect(code).toBe(1);
    await expect(readdir(place)).rejects.toThrow('ENOENT');
  });

  test('says which variables a test lacks', async () => {
    const { stdout } = await tested(
      file(`  - name: a\n    ${given}\n    expect: { exit: 0 }`, 'from: leads\nto:\n  - csv: { path: "${WHERE}/x.csv" }'),
    );
    expect(stdout).toContain('a test has only its own environment: set WHERE under env');
  });

  test('runs those that are named, and refuses names that nothing has', async () => {
    const two = file(`  - name: first\n    ${given}\n    expect: { exit: 0 }\n  - name: second\n    ${given}\n    expect: { exit: 1 }`);
    expect(await tested(two, '--only', 'first')).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ok .*first\n$/) });
    expect(await tested(two, '--only', 'night')).toMatchObject({ code: 1 });
    expect(await tested(two, '--only', 'secnd')).toMatchObject({ code: 2, stderr: expect.stringContaining("did you mean 'second'?") });
  });

  test('prints one document with --format json', async () => {
    const { code, stdout } = await tested(
      file(`  - name: a\n    ${given}\n    expect: { rows: [{ low: new }, { low: x }] }`),
      '--format',
      'json',
    );
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({
      ok: false,
      files: [
        {
          file: 'p.yaml',
          ok: false,
          tests: [
            {
              pipeline: 'night',
              name: 'a',
              line: 8,
              ok: false,
              differences: [
                {
                  at: 'rows',
                  expected: '2 rows',
                  received: '2 rows',
                  rows: [{ kind: 'differs', row: 2, columns: { low: { expected: 'x', received: 'sold' } } }],
                },
              ],
            },
          ],
          untested: [],
          skipped: [],
          warnings: [],
        },
      ],
    });
  });

  test('is no success without a test, and wrong for a file that is', async () => {
    const cwd = await folderWith({
      'none.yaml': 'name: a\nfrom: leads\nto:\n  - csv: { path: a.csv }\n',
      'wrong.yaml': file(`  - name: a\n    ${given}\n    expect: { exit: 0 }`).replace('from: leads', 'from: lead'),
      'right.yaml': file(`  - name: a\n    ${given}\n    expect: { exit: 3 }`).replace('exit: 3', 'exit: 1'),
    });
    expect(await cli(['test', 'none.yaml'], { cwd })).toMatchObject({ code: 2, stderr: expect.stringContaining('no tests of a') });
    expect(await cli(['test', 'none.yaml', '--format', 'json'], { cwd })).toMatchObject({ code: 2, stdout: '' });
    expect(await cli(['test', 'right.yaml', '--only', 'b', '--format', 'json'], { cwd })).toMatchObject({ code: 2, stdout: '' });
    const { code, stdout, stderr } = await cli(['test', '*.yaml'], { cwd });
    expect(code).toBe(78);
    expect(stdout).toMatch(/^FAIL right\.yaml/);
    expect(stderr).toContain("wrong.yaml:2:7 unknown collection 'lead', did you mean 'leads'?");
  });

  test('tells each test as it ends, and waits a second at most for an answer', async () => {
    const hanging = `    service: { faults: [delay=9999] }\n    expect: { error: E_SOURCE_UNAVAILABLE, message: no response in time }`;
    const [quick, slow] = [`  - name: quick\n    ${given}\n    expect: { exit: 0 }`, `  - name: slow\n    ${given}\n${hanging}`];
    const cwd = await folderWith({
      'p.yaml': file(`${quick}\n${slow}`).replace('name: night', 'name: night\nservice: { retry: { attempts: 1 } }'),
    });
    const told: string[] = [];
    const results = await testPipelines('p.yaml', { cwd, onResult: ({ name }) => void told.push(name) });
    expect(told).toEqual(['quick', 'slow']);
    expect(results.tests.map(({ differences }) => differences)).toEqual([[], []]);
  });

  test('stops when it is told to', async () => {
    const cwd = await folderWith({
      'p.yaml': file(`  - name: a\n    ${given}\n    service: { faults: [delay=60000] }\n    expect: { exit: 0 }`),
    });
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 300);
    const { code } = await cli(['test', 'p.yaml'], { cwd, signal: abort.signal });
    expect(code).toBe(130);
  });
});

describe('validate, of tests', () => {
  test('names what is wrong with them, at its place', async () => {
    const cwd = await folderWith({
      'p.yaml': file(
        `  - name: a
    given: { lead: [], bridges: [] }
    expect: { rows: [{ lo: new }], error: E_NOTHING, warnings: [W_SOURCE_CAPS] }
  - name: a
    expect: {}
  - name: c
    given: {}
    expect: { book: { read: 1 } }`,
      ),
    });
    const { code, stderr } = await cli(['validate', 'p.yaml'], { cwd });
    expect(code).toBe(78);
    expect(stderr).toContain("did you mean 'books'?");
    expect(stderr).toContain('p.yaml:10:43 error: must be a code of the catalogue');
    expect(stderr).toContain("did you mean 'W_SOURCE_CAP'?");
    expect(stderr).toContain('needs given or data');
    expect(stderr).toContain('a test must expect something');
  });

  test('finds collections, columns and names that are none', async () => {
    const cwd = await folderWith({
      'p.yaml': file(
        `  - name: a
    given: { lead: [], bridges: [] }
    expect: { rows: [{ lo: new }] }
  - name: a
    given: { leads: [{ own: 1 }] }
    expect: { rows: [{ own: 1 }] }`,
      ),
    });
    const { code, stderr } = await cli(['validate', 'p.yaml'], { cwd });
    expect(code).toBe(78);
    expect(stderr.split('\n')).toEqual([
      "p.yaml:9:14 unknown collection 'lead', did you mean 'leads'?",
      'p.yaml:9:24 bridges is not read here; this pipeline reads leads',
      "p.yaml:10:24 unknown column 'lo', did you mean 'low'?",
      "p.yaml:11:11 the name 'a' is taken by tests[0]",
      expect.stringMatching(/^leadstream: E_SPEC_INVALID: 4 problems in 1 file\. /),
      '',
    ]);
  });

  test('finds files that no run of the pipeline writes', async () => {
    const of = (name: string) => `  - name: '${name}'\n    ${given}\n    expect: { files: { '${name}': { exists: false } } }`;
    const names = [
      'out/leads.csv',
      './out/leads.csv',
      'out/leads.csv.rejects.ndjson',
      'out/leads.cvs',
      '/tmp/leads.csv',
      '../out/leads.csv',
      'out',
    ];
    const cwd = await folderWith({ 'p.yaml': file(names.map(of).join('\n')) });
    const { code, stderr } = await cli(['validate', 'p.yaml'], { cwd });
    expect(code).toBe(78);
    expect(stderr.split('\n')).toEqual([
      "p.yaml:19:24 unknown output 'out/leads.cvs', did you mean 'out/leads.csv'?",
      'p.yaml:22:24 /tmp/leads.csv is absolute, but a test writes to its own folder; use the relative path of the output',
      expect.stringMatching(/^p\.yaml:25:24 unknown output '\.\.\/out\/leads\.csv', did you mean /),
      "p.yaml:28:24 unknown output 'out', did you mean 'out/leads.csv'?",
      expect.stringMatching(/^leadstream: E_SPEC_INVALID: 4 problems in 1 file\. /),
      '',
    ]);
    const other = file(
      `  - name: a\n    ${given}\n    env: { TO: b.csv }\n    expect: { files: { a.csv: { exists: false } } }`,
      'from: leads\nto:\n  - csv: { path: "${TO}" }',
    );
    await writeFile(join(cwd, 'p.yaml'), other);
    expect(await cli(['test', 'p.yaml'], { cwd })).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("E_SPEC_INVALID: p.yaml:6:3 unknown output 'a.csv'"),
    });
  });

  test('leaves the fingerprint of a pipeline and its texts alone', async () => {
    const [without, several] = [file(''), file(`  - name: '\${NOTHING}'\n    ${given}\n    expect: { rows: [{ low: '\${NOTHING}' }] }`)];
    const cwd = await folderWith({ 'a.yaml': without.replace('tests:\n', ''), 'b.yaml': several });
    const env = { LEADSTREAM_BASE_URL: 'http://127.0.0.1:1', LEADSTREAM_REST_API_KEY: 'key-of-a-test' };
    const [a, b] = [await loadPipeline('a.yaml', { cwd, env }), await loadPipeline('b.yaml', { cwd, env })];
    expect(b.fingerprint).toBe(a.fingerprint);
  });
});
