import { PassThrough } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import type { Console } from '../../../src/cli/console.js';
import { RequestCounts } from '../../../src/cli/request-counts.js';
import { createStatus } from '../../../src/cli/status/status.js';
import { parsePipeline, type OperationEvent, type Pipeline, type Watcher } from '../../../src/index.js';
import { ManualClock } from '../../support/clock.js';
import { pipelineText } from '../../support/services.js';
import { toCsv, toStdout } from './support.js';

const [terminal, pipe] = [{ isTTY: true }, { isTTY: false }];

function pipelineOf(body: string): Promise<Pipeline> {
  return parsePipeline(pipelineText(body), 'p.yaml', {
    env: { LEADSTREAM_BASE_URL: 'http://127.0.0.1:1', LEADSTREAM_REST_API_KEY: 'key-of-the-test' },
  });
}

/** A terminal that remembers each write, and what stands in its last line. */
function screen(columns = 80) {
  const writes: string[] = [];
  const stderr = Object.assign(new PassThrough(), { isTTY: true, columns });
  stderr.on('data', (piece: Buffer) => writes.push(piece.toString('utf8')));
  const shown = () => {
    stderr.read();
    return writes.join('').split('\r').at(-1)?.replace('\u001b[K', '');
  };
  return { stderr, writes, shown };
}

/** A console that remembers events. */
function talking(format: Console['format'] = 'text', level: Console['level'] = 'info') {
  const events: { name: string; facts: object; words: unknown }[] = [];
  return {
    events,
    console: { format, level, event: (name: string, facts: object, words: unknown) => void events.push({ name, facts, words }) },
  };
}

const list = (at: string | undefined, collection: string, expected: number | undefined): OperationEvent<'read'> => ({
  run: 'run-1',
  collection,
  at,
  expected,
});

function pages(watcher: Watcher, { at, collection }: OperationEvent<'read'>, from: number, to: number): void {
  for (let number = from; number <= to; number += 1)
    watcher.page?.({ run: 'run-1', collection, at, number, rows: 500, pages: number, read: 500 * number });
}

describe('the status of a run on a terminal', () => {
  test('is there before the first event, and leaves nothing behind', async () => {
    const { stderr, shown } = screen();
    const status = createStatus(await pipelineOf(toCsv), {
      console: talking().console,
      stderr,
      stdout: terminal,
      clock: new ManualClock(),
      counts: new RequestCounts(),
    });
    expect(shown()).toBe('test: opening');
    status.end();
    expect(shown()).toBe('');
  });

  test('says what it reads for a join before the list itself, and the time that is left', async () => {
    const [{ stderr, shown }, clock, counts] = [screen(), new ManualClock(), new RequestCounts()];
    const status = createStatus(await pipelineOf(toCsv), { console: talking().console, stderr, stdout: terminal, clock, counts });
    const [watcher = {}] = status.watchers;
    const [leads, bridges] = [list(undefined, 'leads', 10_000), list('steps[0] join', 'bridges', undefined)];
    watcher.read?.start?.(leads);
    watcher.read?.start?.(bridges);
    pages(watcher, bridges, 1, 3);
    clock.advance(1_000);
    expect(shown()).toBe('test: reading bridges for steps[0] join, 1,500 rows, 1,500 rows/s');
    watcher.read?.asyncEnd?.(bridges);
    pages(watcher, leads, 1, 4);
    const answered: OperationEvent<'request'> = {
      run: 'run-1',
      url: '',
      collection: 'leads',
      page: 4,
      purpose: 'page',
      attempt: 1,
      status: 200,
      bytes: 20_400,
    };
    watcher.request?.start?.(answered);
    for (const each of [watcher, counts.watcher]) each.request?.asyncEnd?.(answered);
    clock.advance(1_000);
    expect(shown()).toBe('test: reading leads, 2,000 rows (20%), 20.4 kB, 1,000 rows/s, 0:08 left');
    watcher.read?.asyncEnd?.(leads);
    watcher.finish?.start?.({ run: 'run-1', at: 'to[0] csv' });
    clock.advance(125);
    expect(shown()).toBe('test: finishing to[0] csv, 20.4 kB');
    status.end();
  });

  test('writes once for a frame, and nothing when nothing has changed', async () => {
    const [{ stderr, writes, shown }, clock] = [screen(), new ManualClock()];
    const status = createStatus(await pipelineOf(toCsv), {
      console: talking().console,
      stderr,
      stdout: terminal,
      clock,
      counts: new RequestCounts(),
    });
    const [watcher = {}] = status.watchers;
    const leads = list(undefined, 'leads', undefined);
    watcher.read?.start?.(leads);
    pages(watcher, leads, 1, 50);
    clock.advance(125);
    shown();
    expect(writes).toHaveLength(2);
    expect(writes.every((write) => /^\r[^\r\n]*\u001b\[K$/.test(write))).toBe(true);
    status.end();
    clock.advance(60_000);
    shown();
    expect(writes).toHaveLength(3);
  });

  test('comes back with the next frame after a message', async () => {
    const [{ stderr, shown }, clock] = [screen(), new ManualClock()];
    const status = createStatus(await pipelineOf(toCsv), {
      console: talking().console,
      stderr,
      stdout: terminal,
      clock,
      counts: new RequestCounts(),
    });
    status.clear();
    expect(shown()).toBe('');
    clock.advance(125);
    expect(shown()).toBe('test: opening');
    status.end();
  });

  test.each([20, 40, 80])('stays below the last of %i columns', async (columns) => {
    const [{ stderr, shown }, clock] = [screen(columns), new ManualClock()];
    const status = createStatus(await pipelineOf(toCsv), {
      console: talking().console,
      stderr,
      stdout: terminal,
      clock,
      counts: new RequestCounts(),
    });
    const [watcher = {}] = status.watchers;
    const leads = list(undefined, 'leads', 400_000_000);
    watcher.read?.start?.(leads);
    pages(watcher, leads, 1, 1_000);
    clock.advance(1_000);
    expect(shown()?.length).toBeLessThan(columns);
    status.end();
  });

  test.each([
    ['when rows are printed on it', toStdout, terminal, 'info'],
    ['when they are printed on it beside a file', `${toCsv}\n  - stdout: {}`, terminal, 'info'],
    ['under --quiet', toCsv, terminal, 'error'],
  ] as const)('is not shown %s', async (_, body, stdout, level) => {
    const [{ stderr, writes, shown }, clock] = [screen(), new ManualClock()];
    createStatus(await pipelineOf(body), { console: talking('text', level).console, stderr, stdout, clock, counts: new RequestCounts() });
    clock.advance(60_000);
    shown();
    expect(writes).toEqual([]);
  });

  test('is shown when rows go into a pipe', async () => {
    const { stderr, shown } = screen();
    createStatus(await pipelineOf(toStdout), {
      console: talking().console,
      stderr,
      stdout: pipe,
      clock: new ManualClock(),
      counts: new RequestCounts(),
    }).end();
    expect(shown()).toBe('');
  });
});

describe('the status of a run elsewhere', () => {
  test.each([
    ['that is no terminal', 'text', false],
    ['on a terminal that wants JSON', 'json', true],
  ] as const)('is a message every half minute: %s', async (_, format, isTTY) => {
    const clock = new ManualClock();
    const { console, events } = talking(format);
    const stderr = Object.assign(new PassThrough(), { isTTY });
    const status = createStatus(await pipelineOf(toCsv), { console, stderr, stdout: pipe, clock, counts: new RequestCounts() });
    const [watcher = {}] = status.watchers;
    clock.advance(29_000);
    expect(events).toEqual([]);
    const leads = list(undefined, 'leads', 100_000);
    watcher.read?.start?.(leads);
    pages(watcher, leads, 1, 20);
    clock.advance(1_000);
    expect(events).toEqual([
      {
        name: 'run.progress',
        words: 'test: reading leads, 10,000 rows (10%), 10,000 rows/s, 0:09 left',
        facts: {
          pipeline: 'test',
          doing: 'reading leads',
          collection: 'leads',
          pages: 20,
          rows: 10_000,
          expected: 100_000,
          rowsPerSecond: 10_000,
          secondsLeft: 9,
          bytes: 0,
          retries: 0,
        },
      },
    ]);
    clock.advance(30_000);
    expect(events).toHaveLength(2);
    status.end();
    clock.advance(60_000);
    expect(events).toHaveLength(2);
    expect(stderr.read()).toBeNull();
  });
});
