import { PassThrough } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { createProgress } from '../../../src/cli/progress.js';
import { parsePipeline, type MomentEvent, type Pipeline } from '../../../src/index.js';
import { pipelineText } from '../../support/services.js';
import { toCsv, toStdout } from './support.js';

const [terminal, pipe] = [{ isTTY: true }, { isTTY: false }];
const talking = { level: 'info', format: 'text' } as const;

function pipelineOf(body: string): Promise<Pipeline> {
  return parsePipeline(pipelineText(body), 'p.yaml', {
    env: { LEADSTREAM_BASE_URL: 'http://127.0.0.1:1', LEADSTREAM_REST_API_KEY: 'key-of-the-test' },
  });
}

/** A terminal that remembers what was written on it. */
function screen() {
  return Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: true, columns: 100, cursorTo: () => {}, clearLine: () => {} });
}

const page = (pages: number, read: number): MomentEvent<'page'> => {
  return { run: 'run-1', collection: 'leads', at: undefined, number: pages, rows: 500, pages, read };
};

describe('the progress of a run', () => {
  test('shows nothing before the first page', async () => {
    const stderr = screen();
    createProgress(talking, await pipelineOf(toCsv), stderr, terminal).end();
    expect(stderr.read()).toBeNull();
  });

  test.each([
    ['shows rows and pages when files are written', toCsv, terminal, true],
    ['shows them when rows go into a pipe', toStdout, pipe, true],
    ['leaves the terminal to the rows when they are printed there', toStdout, terminal, false],
    ['leaves it to them when they are printed beside a file', `${toCsv}\n  - stdout: {}`, terminal, false],
  ])('%s', async (_, body, stdout, shown) => {
    const stderr = screen();
    const progress = createProgress(talking, await pipelineOf(body), stderr, stdout);
    progress.watcher.page?.(page(3, 1_500));
    progress.end();
    expect(String(stderr.read()).includes('test | 1,500 rows | page 3 |')).toBe(shown);
  });

  test('comes back after a message', async () => {
    const stderr = screen();
    const progress = createProgress(talking, await pipelineOf(toCsv), stderr, terminal);
    progress.watcher.page?.(page(1, 500));
    progress.end();
    stderr.read();
    progress.watcher.page?.(page(2, 1_000));
    progress.end();
    expect(stderr.read()).toContain('page 2');
  });
});
