import { setTimeout as wait } from 'node:timers/promises';
import type { Responder } from '../../../src/service/index.js';
import { cli } from '../../support/cli.js';
import { service } from '../../support/services.js';
import { folderWith, visible } from '../../support/temporary.js';

const settings = '{ limit: 100, end_wait: 1ms, concurrency: 2, retry: { base: 1ms } }';
const to = (name: string, from: string, more = '') =>
  `name: ${name}\nservice: ${settings}\nfrom: ${from}\n${more}to:\n  - csv: { path: ${name}.csv }\n`;

async function run(texts: readonly string[], responder: Responder, parallel = '3', signal?: AbortSignal) {
  const from = await service(undefined, { responders: [responder] });
  const cwd = await folderWith({ 'p.yaml': texts.join('---\n') });
  const ended = await cli(['run', 'p.yaml', '--parallel', parallel], { cwd, env: from.env, ...(signal && { signal }) });
  const said = ended.stderr.trim().split('\n');
  const csvs = (await visible(cwd)).filter((name) => name.endsWith('.csv'));
  return { code: ended.code, csvs, last: said.at(-1), summaries: said.flatMap((line) => /^(\w+): read/.exec(line)?.[1] ?? []).sort() };
}

describe('leadstream run --parallel', () => {
  test('runs pipelines at the same time, and prints a summary of each', async () => {
    let came = () => {};
    const bridges = new Promise<void>((resolve) => (came = resolve));
    const responder: Responder = async (facts, next) => {
      if (facts.collection === 'bridges') came();
      if (facts.collection === 'users') await bridges;
      return next(facts);
    };
    const ended = await run([to('a', 'users'), to('b', 'links'), to('c', 'bridges')], responder, '2');
    expect(ended).toEqual({ code: 0, csvs: ['a.csv', 'b.csv', 'c.csv'], last: 'published: a, b, c', summaries: ['a', 'b', 'c'] });
  });

  test('never reads a list twice at the same time, nor more of a service than one pipeline may', async () => {
    let [running, most] = [0, 0];
    const responder: Responder = async (facts, next) => {
      most = Math.max(most, (running += 1));
      await wait(5);
      running -= 1;
      return next(facts);
    };
    const join = 'steps:\n  - join: { with: users, on: { uid: uid }, as: user, select: [affid], pick: first }\n';
    const ended = await run([to('a', 'users'), to('b', 'links', join), to('c', 'bridges'), to('d', 'users')], responder);
    expect(ended).toMatchObject({ code: 0, summaries: ['a', 'b', 'c', 'd'] });
    expect(most).toBe(2);
  });

  test('lets the others run when one fails, and exits with its code', async () => {
    const gate = 'expect: { min_rows: 100000 }\n';
    const ended = await run([to('a', 'users'), to('b', 'links', gate), to('c', 'bridges')], (facts, next) => next(facts));
    expect(ended).toMatchObject({ code: 65, csvs: ['a.csv', 'c.csv'], last: 'published: a, c; failed: b' });
  });

  test('ends all after a signal', async () => {
    const stop = new AbortController();
    let requests = 0;
    const responder: Responder = async (facts, next) => {
      if ((requests += 1) === 2) stop.abort();
      await wait(50);
      return next(facts);
    };
    const ended = await run([to('a', 'users'), to('b', 'links'), to('c', 'bridges')], responder, '2', stop.signal);
    expect(ended).toMatchObject({ code: 130, csvs: [], last: 'failed: a, b; not run: c' });
  });

  test('takes a whole number', async () => {
    expect(await run([to('a', 'users')], (facts, next) => next(facts), '0')).toMatchObject({ code: 2, csvs: [] });
  });
});
