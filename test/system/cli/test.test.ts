import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { testPipelines } from '../../../src/pipeline-tests/index.js';
import { cli, startCli } from '../../support/cli.js';
import { folderWith, temporaryFolder, visible } from '../../support/temporary.js';

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
  test('leaves nothing behind, and needs nothing of the environment, not even the account and the webhooks of the file', async () => {
    const account = "service: { base_url: '${URL}', auth: { rest_api_key: '${file:key}' } }\non_failure: { webhook: '${HOOK}' }\n";
    const test = `  - name: a\n    ${given}\n    expect: { rows: [{ low: new }, { low: sold }] }`;
    const tests = file(test).replace('from:', `${account}from:`);
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
    expect: { rows: [{ low: old }, { low: sold }, { lead_id: 3 }], stdout: "" }
  - name: files
    ${given}
    expect:
      files:
        out/leads.csv: { rows: [{ lead_id: 1, lead_status: new }, { lead_id: 2, leadstatus: Sold }] }
        out/leads.csv.rejects.ndjson: { exists: false }
        other.csv: { rows: [] }
  - name: a refused run
    ${given}
    set: { expect.min_rows: 3 }
    expect: { books: { read: 2, written: 7 } }`),
    );
    expect(code).toBe(1);
    expect(stdout.split('\n').map((line) => line.replace(/^(\w+ +p\.yaml):\d+/, '$1'))).toEqual([
      'FAIL p.yaml night: rows',
      '       rows[0].low: expected "old", received "new"',
      '       rows[2]: expected {"lead_id":"3"}, received nothing',
      'FAIL p.yaml night: files',
      '       files out/leads.csv[0].lead_status: expected "new", received "NEW"',
      '       files out/leads.csv[1].leadstatus: expected "Sold", received nothing',
      '       files out/leads.csv.rejects.ndjson: expected nothing, received "a file"',
      '       files other.csv: expected "a file", received nothing',
      'FAIL p.yaml night: a refused run',
      expect.stringMatching(/^ {7}error: expected nothing, received "E_GATE_EXPECT: expect\.min_rows: /),
      '       books of to[0] csv: written: expected 7, received 2',
      '',
    ]);
    expect(stderr).toBe('3 tests, 0 passed, 3 failed\n');
  });

  test('takes null for null, in what is given, in rows and in files', async () => {
    const pipeline = 'from: leads\nto:\n  - ndjson: { path: out.ndjson, columns: [lead_id, lead_status] }\n  - parquet: { path: out }';
    const row = '{ lead_id: 1, lead_status: null }';
    const test = `  - name: null
    given: { leads: [${row}] }
    expect: { rows: [${row}], files: { out.ndjson: { rows: [${row}] }, out: { rows: [${row}] } } }`;
    expect(await tested(file(test, pipeline))).toMatchObject({ code: 0 });
    const { stdout } = await tested(file(test.replace('status: null', "status: 'x'"), pipeline));
    for (const place of [' rows[0].', 'out.ndjson[0].', 'out[0].']) expect(stdout).toContain(place);
  });

  test('starts a run when it is told to, with the variables and values of the test, and only these', async () => {
    const pipeline = 'from: leads\nto:\n  - ndjson: { path: "out/${WHERE}-{{ run.date }}.ndjson" }';
    const one = `  - name: a
    given: { leads: [{ lead_id: 1 }, { lead_id: 2 }] }
    now: 2026-01-31T23:59:59Z
    env: { WHERE: here }
    set: { steps.0.filter: lead_id == '2' }
    expect: { files: { out/here-2026-01-31.ndjson: { rows: [{ lead_id: 2 }] } } }`;
    expect(await tested(file(one, pipeline))).toMatchObject({ code: 0, stdout: expect.stringContaining('ok   p.yaml') });
    expect(await tested(file(one.replace('2026-01-31T', '2026-02-31T'), pipeline))).toMatchObject({ code: 78 });
    const lacking = await tested(file(one.replace('env: { WHERE: here }', 'env: {}'), pipeline));
    expect(lacking.stdout).toContain('E_SPEC_REFERENCE: p.yaml:4:21 the environment variable WHERE is not set');
  });

  test('runs against the faults of serve, and waits a second at most for an answer', async () => {
    const of = (fault: string, expected: string) =>
      `  - name: '${fault}'\n    ${given}\n    service: { faults: ["${fault}"] }\n    set: { service.retry.attempts: 2 }\n    expect: ${expected}`;
    const { code, stdout } = await tested(
      file(
        [
          of('401', '{ error: E_SOURCE_AUTH, files: { out/leads.csv: { exists: false } } }'),
          of('429@page=1,times=1', '{ books: { written: 2 } }'),
          of('delay=9999', '{ error: E_SOURCE_UNAVAILABLE }'),
        ].join('\n'),
      ),
    );
    expect(stdout.match(/^(?:ok|FAIL)/gm)).toEqual(['ok', 'ok', 'ok']);
    expect(code).toBe(0);
  });

  test('serves collections of the file', async () => {
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
    const one = `  - name: inline
    given: { orders: [{ no: 1, total: '12.50', address: { city: Berne } }] }
    expect: { rows: [{ no: 1, city: Berne }], files: { orders.ndjson: { rows: [{ no: 1, total: 12.5 }] } } }`;
    expect(await tested(file(one, own))).toMatchObject({ code: 0 });
  });

  test('writes nowhere but in its own folder', async () => {
    const place = join(await folderWith({}), 'lake');
    const { code, stdout } = await tested(
      file(
        `  - name: a\n    ${given}\n    expect: {}\n  - name: b\n    ${given}\n    env: { LAKE: lake }\n    expect: { files: { lake/leads: { rows: [{ lead_id: 1 }, { lead_id: 2 }] } } }`,
        `from: leads\nto:\n  - parquet: { path: "\${LAKE:-${place}}/leads" }`,
      ),
    );
    expect(stdout).toMatch(/FAIL.*: a\n.*E_SPEC_INVALID: p\.yaml:4:\d+ .*lake\/leads is outside the test's folder/);
    expect(stdout).toMatch(/^ok .*: b$/m);
    expect(code).toBe(1);
    await expect(readdir(place)).rejects.toThrow('ENOENT');
  });

  test('runs those that are named, each told as it ends, and refuses names that nothing has', async () => {
    const two = file(
      `  - name: first\n    ${given}\n    expect: {}\n  - name: second\n    ${given}\n    expect: { rows: [{ low: new }, { low: x }] }`,
    );
    const { cwd, ...first } = await tested(two, '--only', 'first');
    expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ok .*first\n$/) });
    expect(await cli(['test', 'p.yaml', '--only', 'night'], { cwd })).toMatchObject({ code: 1 });
    expect(await cli(['test', 'p.yaml', '--only', 'secnd'], { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("unknown test 'secnd'; there are night, first, second"),
    });
    const told: string[] = [];
    await testPipelines('p.yaml', { cwd, onResult: ({ name }) => void told.push(name) });
    expect(told).toEqual(['first', 'second']);
    const { stdout } = await cli(['test', 'p.yaml', '--only', 'second', '--format', 'json'], { cwd });
    const differences = [{ at: 'rows[1].low', expected: 'x', received: 'sold' }];
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      files: [{ file: 'p.yaml', ok: false, tests: [{ line: 11, ok: false, differences }] }],
    });
  });

  test('is no success without a test, and wrong for a file that is', async () => {
    const cwd = await folderWith({
      'none.yaml': 'name: a\nfrom: leads\nto:\n  - csv: { path: a.csv }\n',
      'wrong.yaml': file(`  - name: a\n    ${given}\n    expect: {}`).replace('from: leads', 'from: lead'),
      'right.yaml': file(`  - name: a\n    ${given}\n    expect: { error: E_GATE_EXPECT }`),
    });
    expect(await cli(['test', 'none.yaml'], { cwd })).toMatchObject({ code: 2, stderr: expect.stringContaining('there are no tests') });
    expect(await cli(['test', 'none.yaml', '--format', 'json'], { cwd })).toMatchObject({ code: 2, stdout: '' });
    const { code, stdout, stderr } = await cli(['test', 'right.yaml', 'wrong.yaml'], { cwd });
    expect(code).toBe(78);
    expect(stdout).toMatch(/^FAIL right\.yaml/);
    expect(stderr).toContain("wrong.yaml:2:7 unknown collection 'lead'");
  });

  test('stops when it is told to', async () => {
    const cwd = await folderWith({ 'p.yaml': file(`  - name: a\n    ${given}\n    service: { faults: [delay=60000] }\n    expect: {}`) });
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 300);
    expect(await cli(['test', 'p.yaml'], { cwd, signal: abort.signal })).toMatchObject({ code: 130 });
  });
});
