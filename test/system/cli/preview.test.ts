import { loadPipeline, previewPipeline } from '../../../src/index.js';
import { cli } from '../../support/cli.js';
import { service, workplace } from '../../support/services.js';
import { visible } from '../../support/temporary.js';

const enriching = `
from: leads
steps:
  - dedupe: {}
  - derive: { zip_city: zip_city(zipcode), lower_status: lower(lead_status) }
  - filter: lower_status != 'new'
  - join: { with: bridges, on: { bridge_id: id }, as: bridge, select: [title] }
  - select: [lead_id, lower_status, email, bridge_title]
expect: { min_rows: 100000 }
to:
  - csv: { path: out/leads.csv }
`;

describe('preview', () => {
  test('shows the first rows after every step, hides personal values, and writes nothing', async () => {
    const [from, cwd] = [await service(), await workplace(enriching)];
    const { code, stdout, stderr } = await cli(['preview', 'p.yaml', '-n', '3'], { cwd, env: from.env });
    expect(code).toBe(0);
    expect(stdout.match(/^(?:from|steps).*$/gm)).toHaveLength(6);
    expect(stdout).toMatch(/^lead_id +lower_status +email +bridge_title\n[- ]+\n(?:\d+ +\w.*\*\*\*.*\n){3}$/m);
    expect(stdout).not.toContain('@');
    expect(stdout.split('\n').filter((line) => line.length > 100 && !line.startsWith('steps['))).toEqual([]);
    expect(stderr).toMatch(/^read the first [\d,]+ rows of leads \(--sample: more\); nothing was written\n$/);
    expect(await visible(cwd)).toEqual(['p.yaml']);
  });

  test('shows them with --reveal, all columns of one step with --step, and some with --columns', async () => {
    const [from, cwd] = [await service(), await workplace(enriching)];
    const shown = async (...words: string[]) => (await cli(['preview', 'p.yaml', '-n', '1', ...words], { cwd, env: from.env })).stdout;
    expect(await shown('--reveal', '--step', '1')).toMatch(/\nlead_id .* email .* lower_status\n-.*\n\d+ .*@.* \w+\n$/);
    expect(await shown('--columns', 'lower_status,lead_id', '--step', '4')).toMatch(/\nlower_status +lead_id\n-+ +-+\n[a-z ]+ +\d+\n$/);
  });

  test('reads no more than it needs, and all of the other sides of joins', async () => {
    const [from, cwd] = [await service(), await workplace(enriching)];
    await cli(['preview', 'p.yaml', '-n', '2', '--step', '1'], { cwd, env: from.env });
    expect(from.requests.length).toBeLessThanOrEqual(8);
    expect(from.requests.every((request) => request.startsWith('leads?'))).toBe(true);
  });

  test('shows what came before a step that fails, and fails as the run would', async () => {
    const chain =
      'from: leads\nsteps:\n  - derive: { a: area_code(cell_phone) }\n  - join: { with: areacodes, on: { a: area_code }, select: [city] }\nto:\n  - stdout: {}';
    const [from, cwd] = [await service(), await workplace(chain)];
    const { code, stdout, stderr } = await cli(['preview', 'p.yaml', '-n', '2'], { cwd, env: from.env });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^steps\[0\] derive: first 2 of [^]*^steps\[1\] join: no row came out of it$/m);
    expect(stderr).toContain('E_STEP_MATCHES: steps[1] join');
  });
});

test('previewPipeline gives the rows that a run gives', async () => {
  const [from, cwd] = [
    await service(),
    await workplace(
      enriching.replace('expect: { min_rows: 100000 }', '').replace('csv: { path: out/leads.csv }', 'stdout: { naming: snake_case }'),
    ),
  ];
  const pipeline = await loadPipeline('p.yaml', { cwd, env: from.env });
  const { stages, whole } = await previewPipeline(pipeline, { rows: 2000, sample: 2000 });
  const { stdout } = await cli(['run', 'p.yaml', '--quiet'], { cwd, env: from.env });
  const rows: readonly unknown[] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect({ whole, read: stages[0]?.passed, rows: stages.at(-1)?.rows }).toEqual({ whole: true, read: 1200, rows });
});
