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
