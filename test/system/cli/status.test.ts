import { PassThrough } from 'node:stream';
import { jest } from '@jest/globals';
import type { CliConsole } from '../../../src/cli/console.js';
import { RunObserver, Status } from '../../../src/cli/status.js';
import { loadPipeline, type OperationEvent, type Pipeline } from '../../../src/index.js';
import { pipelineText, toCsv, toStdout } from '../../support/services.js';

const env = { LEADSTREAM_BASE_URL: 'http://127.0.0.1:1', LEADSTREAM_REST_API_KEY: 'key-of-the-test' };
const pipelineOf = (body: string): Promise<Pipeline> => loadPipeline({ text: pipelineText(body), file: 'p.yaml' }, { env });
const list = (at: string | undefined, collection: string, expected?: number): OperationEvent<'read'> => ({
  run: 'run-1',
  collection,
  at,
  expected,
});
const [leads, bridges] = [list(undefined, 'leads', 10_000), list('steps[0] join', 'bridges')];
const request = { run: 'run-1', url: '', collection: 'leads', page: 4, purpose: 'page', attempt: 1 } as const;
const answered: OperationEvent<'request'> = { ...request, status: 200, bytes: 20_400 };

/** A run that is observed, and what its status shows on a terminal. */
class Scene {
  readonly writes: string[] = [];
  readonly events: unknown[] = [];
  readonly stderr = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
  readonly observed = new RunObserver();

  constructor() {
    this.stderr.on('data', (piece: Buffer) => this.writes.push(piece.toString('utf8')));
  }

  start(
    pipeline: Pipeline,
    { level = 'info', format = 'text', stdout = {} }: Partial<Pick<CliConsole, 'level' | 'format'>> & { stdout?: object } = {},
  ): Status {
    const event = (...said: unknown[]) => void this.events.push(said);
    return new Status(pipeline, this.observed, { console: { level, format, event }, stderr: this.stderr, stdout });
  }

  get shown(): string | undefined {
    this.stderr.read();
    return this.writes.join('').split('\r').at(-1)?.replace('\u001b[K', '');
  }

  pages({ at, collection }: OperationEvent<'read'>, upTo: number): void {
    this.observed.watcher.page?.({ run: 'run-1', collection, at, number: upTo, rows: 500, pages: upTo, read: 500 * upTo });
  }
}

describe('the status of a run', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  describe('on a terminal', () => {
    test('says what the run does, and leaves nothing behind', async () => {
      const scene = new Scene();
      const { read, request: requests, retry, finish } = scene.observed.watcher;
      const status = scene.start(await pipelineOf(toCsv));
      expect(scene.shown).toBe('test: opening');
      read?.start?.(leads);
      read?.start?.(bridges);
      scene.pages(bridges, 3);
      jest.advanceTimersByTime(1_000);
      expect(scene.shown).toBe('test: reading bridges for steps[0] join, 1,500 rows, 1,500 rows/s');
      read?.asyncEnd?.(bridges);
      requests?.start?.(answered);
      requests?.asyncEnd?.(answered);
      scene.pages(leads, 4);
      jest.advanceTimersByTime(1_000);
      expect(scene.shown).toBe('test: reading leads, 2,000 rows (20%), 1,000 rows/s, 0.0 MB');
      retry?.({ run: 'run-1', url: '', attempt: 1, delayMs: 24_000, error: { code: 'E_SOURCE_UNAVAILABLE', message: '', status: 503 } });
      jest.advanceTimersByTime(1_000);
      expect(scene.shown).toBe('test: reading leads, 2,000 rows (20%), 667 rows/s, 0.0 MB, 1 retry');
      read?.asyncEnd?.(leads);
      finish?.start?.({ run: 'run-1', at: 'to[0] csv' });
      jest.advanceTimersByTime(24_000);
      expect(scene.shown).toBe('test: finishing to[0] csv, 0.0 MB, 1 retry');
      status.clear();
      expect(scene.shown).toBe('');
      jest.advanceTimersByTime(125);
      expect(scene.shown).toContain('finishing');
      status.end();
      expect(scene.shown).toBe('');
      expect(scene.writes.every((write) => /^\r[^\r\n]*\u001b\[K$/.test(write))).toBe(true);
    });

    test.each([
      ['when rows are printed on it', toStdout, { stdout: { isTTY: true } }],
      ['under --quiet', toCsv, { level: 'error' }],
    ] as const)('is not shown %s', async (_, body, options) => {
      const scene = new Scene();
      scene.start(await pipelineOf(body), options);
      jest.advanceTimersByTime(60_000);
      expect(scene.shown).toBe('');
    });
  });

  test('elsewhere is a message every half minute', async () => {
    const scene = new Scene();
    const status = scene.start(await pipelineOf(toStdout), { format: 'json' });
    jest.advanceTimersByTime(28_000);
    scene.observed.watcher.read?.start?.(leads);
    scene.pages(leads, 2);
    expect(scene.events).toEqual([]);
    jest.advanceTimersByTime(2_000);
    const facts = { pipeline: 'test', doing: 'reading leads', rows: 1_000, expected: 10_000, bytes: 0, retries: 0 };
    expect(scene.events).toEqual([['run.progress', facts, 'test: reading leads, 1,000 rows (10%), 500 rows/s']]);
    status.end();
    jest.advanceTimersByTime(60_000);
    expect(scene.events).toHaveLength(1);
  });
});
