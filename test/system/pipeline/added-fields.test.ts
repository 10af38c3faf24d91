import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { firstValueFrom } from 'rxjs';
import { collections, connect, cast, extendCollection, typesOf } from '../../../src/index.js';
import { testPipelines } from '../../../src/pipeline-tests/index.js';
import { cli } from '../../support/cli.js';
import { duckdb } from '../../support/duckdb.js';
import { publishedManifest } from '../../support/parquet-files.js';
import { lead, leads, runIn, serviceOf, testKey } from '../../support/services.js';
import { folderWith, temporaryFolder } from '../../support/temporary.js';

const score = 'credit_score: { at: Credit Score, type: integer, description: "A bureau\'s, \\ud800300 to 850." }';
const adding = (added: string, list = 'leads') => `collections: { ${list}: { add: { ${added} } } }\n`;
const toTable = 'to:\n  - parquet: { path: t }\n';

/** What a run makes of the lists of a service: the rows of its table, and its report. */
async function result(lists: Parameters<typeof serviceOf>[0], body: string, folder?: string) {
  const cwd = folder ?? (await temporaryFolder());
  const report = await runIn(await serviceOf(lists), `${body}\n${toTable}rejects: { max: 100% }\n`, cwd);
  return { cwd, report, rows: await duckdb(`select * from '${cwd}/t/*.parquet' order by all`) };
}

describe('a field that a file adds to a collection', () => {
  test('is cast, or rejects its row, without its value, and has its description in the comments', async () => {
    const values = ['700', '', 'good', undefined].map((value, index) => lead(index, { 'Credit Score': value }));
    const { cwd, report, rows } = await result({ leads: values }, `${adding(score)}from: leads`);
    expect(rows.map(({ credit_score }) => credit_score)).toEqual(['700', null, null]);
    expect(await readFile(join(cwd, 't.rejects.ndjson'), 'utf8')).toMatch(/"field":"credit_score","reason":"is not a 64-bit integer"}\n$/);
    expect(report.findings).toMatchObject({ unknown: {}, gone: expect.not.arrayContaining(['credit_score']) });
    const { schema = [] } = (await publishedManifest(join(cwd, 't'))) ?? {};
    const comment = "Credit Score of leads; integer, personal. A bureau's, \ufffd300 to 850.";
    expect(schema.at(-1)).toMatchObject({ name: 'credit_score', original: 'Credit Score', type: 'integer', comment });
  });

  test.each<[what: string, added: string, steps: string, expected: Readonly<Record<string, unknown>>]>([
    ['is personal by default', 'license: text', 'mask: { preset: personal, as: redact }', { license: '[redacted]' }],
    ['has the name that the file gives it', 'x: { type: text, at: N }', 'select: [x, lead_id]', { x: 'other' }],
    ['of the other side is selected', 'n: integer', 'join: { with: users, on: { uid: uid }, select: [tier] }', { users_tier: '3' }],
    [
      'of links and bridges is secret until it is revealed',
      'n: text',
      'join: { with: bridges, on: { uid: id }, reveal: [tier] }',
      {
        bridges_tier: '9',
      },
    ],
  ])('%s', async (_what, added, step, expected) => {
    const lists = { leads: [lead(1, { license: '12345678', n: '7', N: 'other', uid: 'u' })] };
    const sides = { users: [{ uid: 'u', tier: 3 }], bridges: [{ id: 'u', tier: 9 }] };
    const also = `leads: { add: { ${added} } }, users: { add: { tier: integer } }, bridges: { add: { tier: integer } }`;
    const { rows } = await result({ ...lists, ...sides }, `collections: { ${also} }\nfrom: leads\nsteps:\n  - ${step}`);
    expect(rows).toMatchObject([expected]);
  });

  test('that an earlier run of the table had as text is refused where files stay, and replaced where they do not', async () => {
    const lists = { leads: [lead(1, { 'Credit Score': '700' })] };
    const { cwd } = await result(lists, 'from: leads');
    const kept = await serviceOf(lists);
    for (const mode of ['append', 'merge'])
      await expect(runIn(kept, `${adding(score)}from: leads\nto: [{ parquet: { path: t, mode: ${mode} } }]`, cwd)).rejects.toMatchObject({
        code: 'E_GATE_SCHEMA',
        message: expect.stringContaining('the column credit_score is text in the table and integer in this run'),
      });
    expect((await result(lists, `${adding(score)}from: leads`, cwd)).rows).toMatchObject([{ credit_score: '700' }]);
  });

  test('and that was a column of another name before is refused under schema: freeze, like any other change', async () => {
    const users = [{ uid: '1', email: 'e', affid: 'a', Tier: '3' }];
    const { cwd } = await result({ users }, 'from: users');
    const night = (name: string) =>
      result({ users }, `${adding(`${name}: { at: Tier, type: text }`, 'users')}schema: freeze\nfrom: users`, cwd);
    const message = expect.stringContaining('found changed name: level (tier before, level now)');
    await expect(night('level')).rejects.toMatchObject({ code: 'E_GATE_SCHEMA', message });
    expect((await night('tier')).rows).toMatchObject([{ tier: '3' }]);
  });

  test.each([
    ['mode: merge', ''],
    ['mode: replace', 'schema: freeze\n'],
  ])('and that is another field than the column was before is refused with %s %s', async (mode, schema) => {
    const [users, cwd] = [[{ uid: '1', email: 'e', affid: 'a', Tier: '3', Level: '4' }], await temporaryFolder()];
    const night = async (tier: string, level: string) =>
      runIn(
        await serviceOf({ users }),
        `${adding(`tier: { at: ${tier}, type: text }, level: { at: ${level}, type: text }`, 'users')}${schema}from: users
to: [{ parquet: { path: t, ${mode} } }]`,
        cwd,
      );
    await night('Tier', 'Level');
    const message = expect.stringMatching(/tier (is the field Tier in the table and Level|\(Tier before, Level now)/);
    await expect(night('Level', 'Tier')).rejects.toMatchObject({ code: 'E_GATE_SCHEMA', message });
  });

  test.each(['{ type: text, sensitivity: secret }', 'text'])(
    'as %s is refused if the service sends it by a name like that',
    async (field) => {
      const lists = { leads: [lead(1, { 'Credit Score': '700' })] };
      const message = expect.stringContaining('credit_score is declared to be, but rows have "Credit Score"; say it as at');
      await expect(result(lists, `${adding(`credit_score: ${field}`)}from: leads`)).rejects.toMatchObject({
        code: 'E_GATE_SCHEMA',
        message,
      });
    },
  );

  test('keeps what the defaults of a file say besides its type', async () => {
    const defaults = `defaults:\n  ${adding('tier: { at: Tier, type: text, sensitivity: secret }')}---\n`;
    const { env } = await serviceOf({ leads: [lead(1, { Tier: '3' })] });
    const cwd = await folderWith({ 'p.yaml': `${defaults}name: a\n${adding('tier: integer')}from: leads\n${toTable}` });
    expect(await cli(['run', 'p.yaml'], { cwd, env })).toMatchObject({ code: 0 });
    expect(await duckdb(`select column_name from (describe from '${cwd}/t/*.parquet') where column_name ilike '%tier%'`)).toEqual([]);
  });

  test('is read from the pages of a run that was interrupted before it was declared', async () => {
    const [from, folder] = [await serviceOf({ leads: leads(300, () => ({ 'Credit Score': '700' })) }), await temporaryFolder()];
    const [stop, stateDir] = [new AbortController(), join(folder, 'state')];
    const watch = { page: ({ number }: { number: number }) => void (number === 3 && stop.abort()) };
    await expect(runIn(from, `from: leads\n${toTable}`, folder, { stateDir, watch, signal: stop.signal })).rejects.toThrow('stopped');
    const before = from.requests.length;
    expect(await runIn(from, `${adding(score)}from: leads\n${toTable}`, folder, { stateDir })).toMatchObject({ read: 300, resumed: 3 });
    expect(from.requests.slice(before).filter((request) => /page=[123]&/.test(request))).toEqual([]);
    expect(await duckdb(`select sum(credit_score)::int as sum from '${folder}/t/*.parquet'`)).toEqual([{ sum: 210_000 }]);
  });

  test('is known to the tests of the file, and to one pipeline of a file but not to the other', async () => {
    const test = (row: string) => `tests: [{ name: t, given: { leads: [{ lead_id: 1, credit_score: 7 }] }, expect: { rows: [${row}] } }]\n`;
    const to = (name: string) => `from: leads\nto: [{ csv: { path: ${name}.csv } }]\n`;
    const [a, b] = [`${adding(score)}${to('a')}${test('{ credit_score: 7 }')}`, `${adding('b: text')}${to('b')}${test('{ b: null }')}`];
    const cwd = await folderWith({ 'p.yaml': `name: a\n${a}---\nname: b\n${b}` });
    expect(await testPipelines('p.yaml', { cwd })).toMatchObject({ ok: true, tests: [{}, {}] });
  });
});

test('a program adds fields to a collection, and reads those of bridges once they are revealed', async () => {
  const { url } = await serviceOf({ leads: [lead(1, { 'Credit Score': '700' })], bridges: [{ id: '5', tier: '9' }] });
  const scored = extendCollection(collections.leads, { credit_score: { type: 'integer', at: 'Credit Score' } });
  const bridges = extendCollection(collections.bridges, { tier: 'integer' });
  await using service = connect({ baseUrl: url, auth: { rest_api_key: testKey }, collections: [scored, bridges] });
  expect(await firstValueFrom(service.leads.pipe(cast(typesOf(scored))).rows$)).toMatchObject({ credit_score: 700n });
  expect(await firstValueFrom(service.bridges.rows$)).not.toHaveProperty('tier');
  expect(await firstValueFrom(service.bridges.with({ reveal: ['tier'] }).rows$)).toMatchObject({ tier: '9' });
  expect(() => connect({ baseUrl: url, auth: { rest_api_key: testKey }, collections: [scored, scored] })).toThrow(/'leads' stands twice/);
  expect(() => extendCollection(collections.users, { mail: { type: 'text', at: 'email' } })).toThrow(/is already the field 'email'/);
});
