import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { traceRow, loadPipeline, previewPipeline } from '../../../src/index.js';
import { generate } from '../../../src/service/index.js';
import { cli } from '../../support/cli.js';
import { service, serviceOf, workplace } from '../../support/services.js';
import { visible } from '../../support/temporary.js';

const enriching = `
from: leads
steps:
  - derive: { zip_city: zip_city(zipcode), lower_status: lower(lead_status) }
  - filter: lower_status != 'new'
  - join: { with: bridges, on: { bridge_id: id }, as: bridge, select: [title], type: inner }
  - cast: { types: { age: integer } }
  - select: [lead_id, lower_status, email, bridge_title, age, zip_city]
to:
  - csv: { path: out/leads.csv }
`;

/** Leads that differ in what becomes of them. */
const leads = [
  { lead_id: '1', bridge_id: '7', zipcode: '10001', lead_status: 'Sold', age: '41', email: 'ann@example.org' },
  { lead_id: '2', bridge_id: '7', zipcode: '', lead_status: 'new', age: '', email: '' },
  { lead_id: '3', bridge_id: '8', zipcode: '10001', lead_status: 'open', age: '7', email: 'joe@example.org' },
  { lead_id: '4', bridge_id: '7', zipcode: '10001', lead_status: 'open', age: 'old', email: 'ann@example.org' },
];
const bridges = [
  { id: '7', title: 'Auto' },
  { id: '9', title: 'Solar' },
];

const served = () => serviceOf({ leads, bridges });

describe('explain-row', () => {
  test('shows what every step does to a record, hides personal values, and writes nothing', async () => {
    const [from, cwd] = [await served(), await workplace(enriching)];
    const { code, stdout, stderr } = await cli(['explain-row', 'p.yaml', '1'], { cwd, env: from.env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^from leads\n {2}lead_id = 1\n[^]*\n {2}\+ zip_city = \*\*\*\n[^]*\n1 row for the outputs\n$/);
    for (const personal of ['ann@', '10001', 'New York']) expect(stdout).not.toContain(personal);
    expect(await visible(cwd)).toEqual(['p.yaml']);
    expect(from.requests.filter((request) => request.startsWith('leads'))).toEqual(['leads/1']);
    const revealed = await cli(['explain-row', 'p.yaml', '1', '--reveal'], { cwd, env: from.env });
    expect(revealed.stdout).toContain('+ zip_city = New York');
    const json = await cli(['explain-row', 'p.yaml', '1', '--format', 'json'], { cwd, env: from.env });
    expect(JSON.parse(json.stdout)).toMatchObject({ collection: 'leads', steps: [{ outcome: 'passed' }, {}, {}, {}, {}] });
  });

  const passed = ['passed', {}] as const;
  test.each<[string, readonly (readonly [string, object])[]]>([
    ['2', [passed, ['dropped', { filtered: 1 }]]],
    ['3', [passed, passed, ['dropped', { missed: 1, unmatched: 1 }]]],
    ['4', [passed, passed, ['passed', { matched: 1 }], ['rejected', { rejected: 1 }]]],
  ])('says which step takes lead %s out, and under which count', async (key, steps) => {
    const [from, cwd] = [await served(), await workplace(enriching)];
    const explanation = await traceRow(await loadPipeline('p.yaml', { cwd, env: from.env }), [key]);
    const reached = explanation.steps.filter(({ outcome }) => outcome !== 'not reached');
    expect(reached.map(({ outcome, counts }) => [outcome, counts])).toEqual(steps);
    const { code, stdout } = await cli(['explain-row', 'p.yaml', key], { cwd, env: from.env });
    expect({ code, last: /.*\n$/.exec(stdout)?.[0] }).toMatchObject({
      code: 0,
      last: expect.stringMatching(/^nothing is written for it: steps/),
    });
  });

  test.each([
    ['sql: SELECT lead_id, 1 / count(*) AS n FROM rows GROUP BY ALL HAVING count(*) > 1', 'sql'],
    ['aggregate: { compute: { n: count(), oldest: max(num(email)) } }', 'aggregate'],
    ['sort: { by: [lead_id] }\n  - limit: 2', 'limit'],
    ['limit: 1', 'limit'],
  ])('says of %s that it depends on all rows, and nothing of what comes after', async (step, name) => {
    const from = await served();
    const cwd = await workplace(`on_error: fail\nfrom: leads\nsteps:\n  - ${step}\n  - cast: {}\nto: [stdout: {}]`);
    const { code, stdout } = await cli(['explain-row', 'p.yaml', '4'], { cwd, env: from.env });
    const end =
      /steps\[\d\] (\w+): depends on all rows\n\nsteps\[\d\] cast: not reached\n\nwhat is written for it is not known: steps\[\d\] \w+, .*\n$/;
    expect([code, end.exec(stdout)?.[1]]).toEqual([0, name]);
  });

  test('fails as a run fails on the row, and shows the steps before', async () => {
    const [from, cwd] = [await served(), await workplace(`on_error: fail${enriching}`)];
    const { code, stdout, stderr } = await cli(['explain-row', 'p.yaml', '4'], { cwd, env: from.env });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('E_STEP_VALUE: steps[3] cast') });
    expect(stdout).toMatch(/steps\[2\] join: passed[^]*steps\[3\] cast: failed: [^]*steps\[4\] select: not reached\n/);
  });

  const areas = ['212', '646'].map((code) => ({ area_code: code, city: 'New York', state: 'NY' }));
  const twice = ['1', '4'].map((id) => ({ lead_id: id, email: 'ann@example.org', meta: id === '1' ? 'x' : 'x;y' }));
  test.each<[string, string, readonly string[], string, readonly string[], number]>([
    ['is equal to it', 'leads', ['select: [email]'], 'email', ['4'], 0],
    ['is equal to it, and first in another order', 'leads', ['sort: { by: [lead_id desc] }', 'select: [email]'], 'email', ['1'], 0],
    ['is equal under a mask', 'leads', ['mask: { preset: personal, as: "null", email: keep }', 'select: [email]'], 'email', ['4'], 0],
    ['is equal to one of those it became', 'leads', ['explode: { field: meta, separator: ";" }', 'select: [meta]'], 'meta', ['4'], 1],
    ['has another value for its key', 'leads', ['derive: { lead_id: lower(email) }'], 'lead_id', ['4'], 0],
    ['has a part of its key', 'areacodes', ['select: [city]'], 'city', ['646', 'New York', 'NY'], 0],
  ])('says that a dedupe prefers a row that %s', async (_what, list, before, by, key, left) => {
    const [from, steps] = [await serviceOf({ leads: twice, areacodes: areas }), [...before, `dedupe: { by: [${by}] }`, 'cast: {}']];
    const cwd = await workplace(`from: ${list}\nsteps:\n${steps.map((step) => `  - ${step}\n`).join('')}to: [stdout: {}]`);
    const { steps: passages } = await traceRow(await loadPipeline('p.yaml', { cwd, env: from.env }), key);
    const [dedupe, cast] = passages.slice(-2);
    expect(dedupe).toMatchObject({ outcome: left ? 'passed' : 'dropped', counts: { duplicates: 1 } });
    expect(dedupe?.preferred).toContainEqual({ name: by, value: by === 'email' ? '***' : expect.any(String) });
    expect([cast?.outcome, dedupe?.rows.length, cast?.rows.length]).toEqual([left ? 'passed' : 'not reached', left, left]);
  });

  test('reads no list for a dedupe by the key of the collection, and says when it has not read far enough for another', async () => {
    const [from, cwd] = [await served(), await workplace('from: leads\nsteps:\n  - dedupe: {}\nto:\n  - stdout: {}')];
    expect((await cli(['explain-row', 'p.yaml', '4'], { cwd, env: from.env })).stdout).toContain('steps[0] dedupe: passed\n');
    expect(from.requests).toEqual(['leads/4']);
    await writeFile(join(cwd, 'p.yaml'), 'name: p\nfrom: leads\nsteps:\n  - dedupe: { by: [email] }\nto:\n  - stdout: {}\n');
    const { stdout } = await cli(['explain-row', 'p.yaml', '4', '--scan', '2'], { cwd, env: from.env });
    expect(stdout).toContain('steps[0] dedupe: passed: it is not among the first 2 rows of the list');
  });

  test('shows what a run makes of a record, also where a join makes several rows of one', async () => {
    const all = 'join: { with: bridges, on: { k: niche }, as: b, select: [title], pick: all }';
    const steps = ['derive: { k: "\'x\'" }', all, "filter: b_title != 'Auto'"];
    const from = await serviceOf({ leads, bridges: bridges.map((bridge) => ({ ...bridge, niche: 'x' })) });
    const cwd = await workplace(`from: leads\nsteps:\n${steps.map((step) => `  - ${step}\n`).join('')}to:\n  - stdout: {}`);
    const pipeline = await loadPipeline('p.yaml', { cwd, env: from.env });
    const { stages } = await previewPipeline(pipeline);
    const { steps: passages } = await traceRow(pipeline, ['1'], { reveal: true });
    expect(passages.map(({ rows }) => rows.length)).toEqual([1, 2, 1]);
    const [left = []] = passages[2]?.rows ?? [];
    expect(Object.fromEntries(left.map(({ name, value }) => [name, value]))).toEqual(stages.at(-1)?.rows[0]);
  });

  test('searches the list where there is no single read, so far and no further', async () => {
    const source = generate({ leads: 500, bridges: 5, seed: 7 });
    const from = await service(source, { faults: ['404@requests=1'] });
    const { lead_id: late }: { lead_id: string } = JSON.parse(source.leads.row(250));
    const cwd = await workplace('from: leads\nto:\n  - stdout: {}');
    const found = await cli(['explain-row', 'p.yaml', late], { cwd, env: from.env });
    expect(found).toMatchObject({ code: 0, stdout: expect.stringContaining(`from leads\n  lead_id = ${late}\n`) });
    const missing = await cli(['explain-row', 'p.yaml', '77', '--scan', '150'], { cwd, env: from.env });
    expect(missing).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('E_ROW_NOT_FOUND: leads: there is no record') });
  });

  test('takes a key of several columns, one pipeline of several, and collections of a file', async () => {
    const areacodes = [{ area_code: '646', city: 'New York', state: 'NY', city_population: '10' }];
    const own = 'collections:\n  people: { path: /api/users, key: [uid], paging: { scheme: page }, fields: { uid: text } }\n';
    const from = await serviceOf({ areacodes, users: [{ uid: '1' }, { uid: '2' }] });
    const cwd = await workplace('from: areacodes\nto:\n  - stdout: {}');
    const two = ['name: a\nfrom: users\nto: [csv: { path: a.csv }]\n', `name: b\n${own}from: people\nto: [csv: { path: b.csv }]\n`];
    await writeFile(join(cwd, 'two.yaml'), two.join('---\n'));
    const said = (...words: string[]) => cli(['explain-row', ...words], { cwd, env: from.env });
    expect(await said('p.yaml', '646', 'New York', 'NY')).toMatchObject({ code: 0, stdout: expect.stringContaining('area_code = 646') });
    expect(await said('p.yaml', '646')).toMatchObject({ code: 2, stderr: expect.stringContaining('give 3 values, in this order') });
    expect(await said('two.yaml', '2')).toMatchObject({ code: 2, stderr: expect.stringContaining('--only: a, b') });
    expect(await said('two.yaml', '2', '--only', 'b')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^from people\n {2}uid = 2\n/),
    });
  });
});
