import { describe, expect, test } from '@jest/globals';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { lastValueFrom } from 'rxjs';
import { cast, connect, csv, join as joined, parquet, select, writeTo, type RowStream } from '../../../src/leadstream.js';
import { leads, runIn } from '../../support/pipelines.js';
import { serviceOf, testKey } from '../../support/services.js';
import { temporaryFolder } from '../../support/temporary.js';

/** 250 leads, of which number 210 has an age that is none, and number 105 a bridge that is there twice. */
const odd = () =>
  serviceOf({
    leads: leads(250, (index) => ({ age: index === 210 ? 'young' : '30', bridge_id: index === 105 ? '2' : '1', zipcode: String(index) })),
    bridges: ['1', '2', '2'].map((adnum, index) => ({ id: String(index), adnum, title: 'Auto' })),
  });

const young = "the row with lead_id '210' (row 11 of page 3)";
const twice = "the row with lead_id '105' (row 6 of page 2)";

describe('a row that ends a run', () => {
  test.each([
    [
      'a cast',
      'steps: [cast: { types: { age: integer }, on_error: fail }]\n',
      `steps[0] cast: field age is not a 64-bit integer in ${young}`,
    ],
    [
      'a cast behind a step that drops rows',
      'on_error: fail\nsteps:\n  - filter: num(zipcode) >= 205.0\n  - cast: { types: { age: integer } }\n',
      "steps[1] cast: field age is not a 64-bit integer in the row with lead_id '210' (row 6 of page 3)",
    ],
    ['a filter', 'on_error: fail\nsteps: [filter: num(age) > 1.0]\n', `steps[0] filter: condition: num() cannot read the text in ${young}`],
    [
      'a filter that lets none fail',
      "steps: [filter: { where: age == '30', otherwise: fail }]\n",
      `steps[0] filter: age does not satisfy age == '30' in ${young}`,
    ],
    [
      'derived fields',
      'on_error: fail\nsteps: [derive: { years: num(age) }]\n',
      `steps[0] derive: years: num() cannot read the text in ${young}`,
    ],
    ['a sort', 'on_error: fail\nsteps: [sort: { by: [age] }]\n', `steps[0] sort: field age is not a 64-bit integer in ${young}`],
    [
      'a join with several matches',
      'steps: [join: { with: bridges, on: { bridge_id: adnum }, as: bridge, select: [title] }]\n',
      `steps[0] join: 2 rows match on adnum for ${twice}; choose one with pick`,
    ],
    ['a sink', 'on_error: fail\n', `to[0] csv: field age is not a 64-bit integer in ${young}`],
    [
      'a sink of rows without their key',
      'on_error: fail\nsteps: [select: [age]]\n',
      'to[0] csv: field age is not a 64-bit integer in row 11 of page 3',
    ],
  ])('is named by its key and its place: %s', async (_what, body, message) => {
    const folder = await temporaryFolder();
    const text = `from: leads\n${body}to: [csv: { path: out.csv, types: typed }]`;
    const run = runIn(await odd(), text, folder, { set: { 'service.limit': '100', 'service.end_wait': '1ms' } });
    await expect(run).rejects.toThrow(expect.objectContaining({ message }));
    expect(await readdir(folder)).not.toContain('out.csv');
  });
});

describe('a row that ends a stream of a program', () => {
  const age = { types: { age: 'integer' } } as const;

  test.each<readonly [string, (stream: Leads) => RowStream<unknown>, string]>([
    ['by a cast', (stream) => stream.pipe(cast(age.types)), `cast: field age is not a 64-bit integer in ${young}; such a row ends`],
    [
      'by a cast under onError: fail',
      (stream) => stream.pipe(select(['lead_id', 'age']), cast(age.types, { onError: 'fail' })),
      `cast: field age is not a 64-bit integer in ${young}`,
    ],
  ])('is named by its key and its place %s', async (_how, made, message) => {
    const rows = made((await connected()).leads);
    await expect(lastValueFrom(rows.rows$)).rejects.toThrow(expect.objectContaining({ message: expect.stringContaining(message) }));
  });

  test('is named where a sink takes it, too, and by a join', async () => {
    const service = await connected();
    const folder = await temporaryFolder();
    const path = join(folder, 'leads');
    await expect(writeTo(service.leads, parquet({ path }))).rejects.toThrow(
      expect.objectContaining({ code: 'E_SINK_VALUE', message: `parquet: field age is not a 64-bit integer in ${young}` }),
    );
    const both = service.leads.pipe(joined(service.bridges, { on: { bridge_id: 'adnum' }, as: 'bridge', select: ['title'] }));
    await expect(writeTo(both, csv({ path: join(folder, 'leads.csv') }))).rejects.toThrow(
      expect.objectContaining({ code: 'E_STEP_MATCHES', message: `join: 2 rows match on adnum for ${twice}; choose one with pick` }),
    );
    expect(await readdir(folder)).toEqual([]);
  });
});

type Leads = Awaited<ReturnType<typeof connected>>['leads'];

async function connected() {
  const { url } = await odd();
  return connect({ baseUrl: url, auth: { rest_api_key: testKey }, limit: 100, endWaitMs: 1 });
}
