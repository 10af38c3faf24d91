import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { transform } from '@swc/core';
import { start, type Finished } from '../../support/cli.js';
import { service, type LoggedService } from '../../support/services.js';

/** Runs a program against 1,200 leads, 50 a page, with a window of 8 pages. */
async function program(way: string, from?: LoggedService): Promise<Finished> {
  const { env } = from ?? (await service());
  return start(process.execPath, [join(folder, 'child.mjs'), way], { cwd: process.cwd(), env }).finished;
}

let folder: string;

/** The program as JavaScript on the built module: a process takes a quarter of the time so. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadstream-dry-'));
  const text = await readFile('test/support/holding-child.ts', 'utf8');
  const { code } = await transform(text, { jsc: { target: 'es2022', parser: { syntax: 'typescript' } } });
  await writeFile(join(folder, 'child.mjs'), code.replaceAll('../../src/', `${resolve('dist')}/`));
  await symlink(resolve('node_modules'), join(folder, 'node_modules'));
});

afterAll(() => rm(folder, { recursive: true }));

describe('a program that knows nothing of leases', () => {
  test('gets the whole list', async () => {
    expect(await program('awaits')).toEqual({ code: 0, stdout: '24 pages, listeners: 0\n', stderr: '' });
  });

  test('gets the whole list though its own function fails at each page', async () => {
    const { code, stdout } = await program('throws');
    expect(stdout.split('\n').filter(Boolean)).toEqual([
      ...Array.from({ length: 24 }, (_, page) => `page ${page + 1} is too much`),
      'complete',
    ]);
    expect(code).toBe(0);
  });

  test('is told what the service failed with, behind the pages before it', async () => {
    const failing = await service(undefined, { faults: ['503@page=4'] });
    expect(await program('subscribes', failing)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^E_SOURCE_UNAVAILABLE: .*page 4/),
    });
  });
});

describe('a program that never ends its work', () => {
  test('is told so where what it waits for never comes', async () => {
    const stdout = 'E_RUN_STALLED: page 1 was passed to a writer that never completes, and nothing is pending that it could wait for\n';
    expect(await program('delivers to nobody')).toMatchObject({ code: 0, stdout });
  });

  test('is told so where the new rows of a page never come', async () => {
    expect(await program('maps for ever')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^E_RUN_STALLED: mapAsync: page 2 was passed/),
    });
  });
});

describe('a program whose stream can never end', () => {
  const source = 'the source of the rows never ends';
  const side = 'join: the other side never ends';
  const word = (text: string) => text.split(' ')[0];

  test('is told so wherever it waits, of each stream apart', async () => {
    const { code, stdout, stderr } = await program('waits for ever');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.trim().split('\n');
    const told = lines.flatMap((line) => {
      const [, way, what] = /^(.*): E_RUN_STALLED: (.*), and nothing is pending that it could wait for$/.exec(line) ?? [];
      return way === undefined ? [] : [[way, what] as const];
    });
    expect(Object.fromEntries(told)).toEqual({
      ...Object.fromEntries(['loop', 'rows$', 'pages$', 'toReadable', 'cached rows'].map((way) => [way, source])),
      operator: 'pipe: operator 1 never ends',
      ...Object.fromEntries(['join', 'join of pages', 'join with a list that waits'].map((way) => [way, side])),
      'delivered pages': 'deliver: the stream of pages never ends',
      writeTo: 'writeTo: the stream of rows or the sink never settles',
      'write of a sink': 'write: write on page 1 never settles',
      'commit of a sink': 'commit: commit never settles',
      ...Object.fromEntries(
        ['begin', 'write on page 1', 'commit'].map((what) => [
          `${word(what)} of a sink in a run`,
          `to[0] ${word(what)}: ${what} never settles`,
        ]),
      ),
      'promise of a sink': 'writeTo: the promise of the sink never settles',
    });
    const others = lines.filter((line) => !line.includes('E_RUN_STALLED'));
    const aborted = ['begin', 'commit', 'commit', 'none', 'write', 'write'].map((which) => `${which} aborted`);
    expect(others.toSorted()).toEqual([...aborted, 'listeners: 0'].toSorted());
  });

  test('fails where nobody listens to its error', async () => {
    const { code, stderr } = await program('waits for ever, and listens to no error');
    expect(code).toBe(1);
    expect(stderr).toContain(source);
  });

  test('goes on where it has something else to wait for', async () => {
    expect(await program('goes on with something else')).toEqual({ code: 0, stdout: '2 pages, listeners: 0\n', stderr: '' });
  });
});

test.each([
  ['holds a page for long', '24 pages, listeners: 0\n'],
  ['takes some', '3 pages, listeners: 0\n'],
  ['waits for a timer', '1 pages, listeners: 0\n'],
  ['leaves what it waits for', 'one row is enough\n'],
])('a program is left alone that %s', async (way, stdout) => {
  expect(await program(way)).toEqual({ code: 0, stdout, stderr: '' });
});
