import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cli } from '../../support/cli.js';
import { serviceOf, workplace } from '../../support/services.js';

const flags = ['Yes', 'yes', '1', 'No', 'no', '0'];
const leads = flags.map((is_valid, index) => ({ lead_id: String(index), is_valid }));
const filtered = (condition: string) =>
  `from: leads\nsteps:\n  - filter: ${condition}\nto:\n  - csv: { path: leads.csv, columns: [lead_id] }`;

test('a file with a doubtful comparison is wrong under strict, before a request', async () => {
  const [from, cwd] = [await serviceOf({ leads }), await workplace(filtered(`is_valid == 'yes'`))];
  expect(await cli(['run', 'p.yaml', '--set', 'service.strict=true'], { cwd, env: from.env })).toMatchObject({
    code: 78,
    stderr: expect.stringContaining('p.yaml:9:13 is_valid is a flag'),
  });
  expect(from.requests).toEqual([]);
});

const rows = [{ lead_id: '1', timestamp: '1709164800' }];

test.each([
  [`is_valid == 'yes'`, 'W_SPEC_FLAG: p.yaml:9:13 is_valid is a flag', 'flag(is_valid)'],
  [`timestamp < '2024-01-01'`, 'W_SPEC_TEXT: p.yaml:9:13 timestamp is text here', "epoch(timestamp) < date('20240101')"],
  [`"'lead_status' != 'sold'"`, 'W_SPEC_CONSTANT: p.yaml:9:13 constants are compared', 'lead_status != "sold"'],
])(
  'a file that compares by letters what is no text, or nothing of the row is warned of by validate and by run: %s',
  async (condition, warning, remedy) => {
    const [from, cwd] = [await serviceOf({ leads: rows }), await workplace(filtered(condition))];
    for (const command of ['validate', 'run']) {
      expect(await cli([command, 'p.yaml'], { cwd, env: from.env })).toMatchObject({ code: 0, stderr: expect.stringContaining(warning) });
    }
    const right = await workplace(filtered(remedy));
    expect(await cli(['validate', 'p.yaml'], { cwd: right, env: from.env })).toMatchObject({ stderr: expect.not.stringContaining('W_') });
    expect((await cli(['run', 'p.yaml'], { cwd: right, env: from.env })).code).toBe(0);
  },
);

const ages = ['', '17', '19', '', '41'].map((age, index) => ({ lead_id: String(index), age }));

test('a condition that compares text with a number is refused, and works with num(): rows without a value are dropped, and nothing is rejected', async () => {
  const [from, cwd] = [await serviceOf({ leads: ages }), await workplace(filtered('age > 18'))];
  const refused = await cli(['validate', 'p.yaml'], { cwd, env: from.env });
  expect(refused).toMatchObject({ code: 78, stderr: expect.stringContaining('or read with num()') });
  const right = await workplace(filtered('num(age) > 18'));
  expect((await cli(['run', 'p.yaml'], { cwd: right, env: from.env })).code).toBe(0);
  expect(await readFile(join(right, 'leads.csv'), 'utf8')).toBe('"lead_id"\n"2"\n"4"\n');
});

test.each([
  ['a limit stopped', 'limit: 2', 'stopped the read of leads'],
  ['a filter emptied', `filter: lead_id == 'none'`, 'none of 6 rows'],
])('a run that %s says so once', async (_, step, said) => {
  const body = `from: leads\nsteps:\n  - ${step}\nto:\n  - csv: { path: leads.csv }`;
  const [from, cwd] = [await serviceOf({ leads }), await workplace(body)];
  const { code, stderr } = await cli(['run', 'p.yaml'], { cwd, env: from.env });
  expect(code).toBe(0);
  expect(stderr.split(said)).toHaveLength(2);
});
