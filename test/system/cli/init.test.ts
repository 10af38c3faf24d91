import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { runCli } from '../../../src/cli/run-cli.js';
import { collectionNames } from '../../../src/collections/index.js';
import { destinations, joinsOf } from '../../../src/cli/init-template.js';
import { pipelineSchema } from '../../../src/index.js';
import { everySecond } from '../../support/rung.js';
import { cli } from '../../support/cli.js';
import { service } from '../../support/services.js';
import { temporaryFolder, visible } from '../../support/temporary.js';

/** Every choice of collection, joins and destination. */
const choices = collectionNames.flatMap((from) => {
  const joins = joinsOf(from);
  const some = [[], ...joins.map((join) => [join]), ...(joins.length > 1 ? [joins] : [])];
  return some.map((chosen, index) => ({ from, joins: chosen.join(','), to: destinations[index % destinations.length] ?? 'csv' }));
});

test('a collection can be joined with those that its rows name', () => {
  expect(Object.fromEntries(collectionNames.map((from) => [from, joinsOf(from)]))).toEqual({
    leads: ['bridges', 'areacodes', 'users'],
    bridges: ['users'],
    areacodes: [],
    links: ['bridges', 'users'],
    users: [],
  });
});

describe('init', () => {
  test.each(everySecond(choices))('writes a file for %j in which nothing is wrong or doubtful', async ({ from, joins, to }) => {
    const cwd = await temporaryFolder();
    const words = ['init', 'night', '--from', from, ...(joins === '' ? [] : ['--join', joins]), '--to', to, '--yes'];
    expect(await cli(words, { cwd })).toMatchObject({ code: 0, stdout: '' });
    const { code, stderr } = await cli(['validate', 'night.yaml', '--strict'], { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining(`night.yaml: ok, ${from} > dedupe`) });
    expect(
      (await readFile(join(cwd, 'night.yaml'), 'utf8')).split('\n').every((line) => line.length < 80 || line.includes('$schema')),
    ).toBe(true);
  });

  test('writes a file that can be run as it is, with all joins', async () => {
    const [data, cwd] = [await service(), await temporaryFolder()];
    await cli(['init', 'night', '--join', joinsOf('leads').join(','), '--to', 'csv', '--yes'], { cwd });
    const { code, stderr } = await cli(['run', 'night.yaml'], { cwd, env: data.env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('to[0] csv: 1,200 read = 1,200 written') });
    const [header] = (await readFile(join(cwd, 'out/night.csv'), 'utf8')).split('\n');
    expect(header).toMatch(/,bridge_title,bridge_niche,.*area_area_code,area_city_population,user_affid$/);
  });

  test('names the schema for editors, what the environment has to set, and what is not for version control', async () => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, '.gitignore'), 'node_modules\n/out\n.env');
    const { stderr } = await cli(['init', 'night', '--yes'], { cwd });
    expect(stderr).toContain('.gitignore: added .leadstream/\n');
    expect(await readFile(join(cwd, '.gitignore'), 'utf8')).toBe('node_modules\n/out\n.env\n.leadstream/\n');
    expect(await readFile(join(cwd, '.env.example'), 'utf8')).toContain('\nLEADSTREAM_BASE_URL=\n');
    const [, schema = ''] = /^# yaml-language-server: \$schema=(.+)$/m.exec(await readFile(join(cwd, 'night.yaml'), 'utf8')) ?? [];
    expect(JSON.parse(await readFile(schema, 'utf8'))).toEqual(JSON.parse(JSON.stringify(await pipelineSchema())));
  });

  test('overwrites nothing', async () => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, 'night.yaml'), 'mine');
    await writeFile(join(cwd, '.env.example'), 'mine, too');
    const refused = await cli(['init', 'night', '--yes'], { cwd });
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('night.yaml is there already') });
    expect(await visible(cwd)).toEqual(['.env.example', 'night.yaml']);
    expect(await cli(['init', 'day', '--yes'], { cwd })).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('.env.example: is there, left as it is'),
    });
    expect(await Promise.all(['night.yaml', '.env.example'].map((name) => readFile(join(cwd, name), 'utf8')))).toEqual([
      'mine',
      'mine, too',
    ]);
  });

  test.each(
    everySecond([
      [['init'], 'there is no terminal to ask at'],
      [['init', '../up', '--yes'], 'a name consists of letters, digits, dots, dashes and underscores'],
      [['init', 'a', '--from', 'leads', '--join', 'links', '--yes'], "unknown join of leads 'links'"],
      [['init', 'a', '--from', 'users', '--join', 'bridges', '--yes'], 'there is no join of users'],
    ]),
  )('refuses %j and writes nothing', async (words, message) => {
    const cwd = await temporaryFolder();
    expect(await cli(words, { cwd })).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
    expect(await visible(cwd)).toEqual([]);
  });

  test('asks at a terminal for what no option says, and takes an empty answer for the usual one', async () => {
    const cwd = await temporaryFolder();
    const [stdin, said] = [Object.assign(new PassThrough(), { isTTY: true }), [] as string[]];
    const answers = ['', 'bridges', 'csv'];
    const stderr = new Writable({
      write(chunk: Buffer, _encoding, done) {
        said.push(chunk.toString());
        if (/: $/.test(chunk.toString())) stdin.write(`${answers.shift() ?? ''}\n`);
        done();
      },
    });
    const surroundings = { env: {}, cwd, stdin: () => stdin, stdout: stderr, stderr, signal: new AbortController().signal };
    expect(await runCli(['init', 'night'], surroundings)).toBe(0);
    expect(said.join('')).toMatch(
      /^Collection \(leads, .*\) \[leads\]: [^]*Joins, none or some of bridges, areacodes, users: [^]*Destination/,
    );
    expect(await readFile(join(cwd, 'night.yaml'), 'utf8')).toMatch(
      /^from: leads\nsteps:\n.*\n {2}- join: .*\n {6}with: bridges[^]*- csv: \{ path: out\/night\.csv \}\n$/m,
    );
  });

  test('writes nothing when nobody answers', async () => {
    const cwd = await temporaryFolder();
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    const stderr = new Writable({
      write(_chunk, _encoding, done) {
        stdin.end();
        done();
      },
    });
    const surroundings = { env: {}, cwd, stdin: () => stdin, stdout: stderr, stderr, signal: new AbortController().signal };
    expect(await runCli(['init'], surroundings)).not.toBe(0);
    expect(await visible(cwd)).toEqual([]);
  });
});
