import { channel, subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel';
import { Subject, lastValueFrom, of } from 'rxjs';
import { createRedactor } from '../../../src/core/index.js';
import { Events, watch, type OperationEvent, type Watcher } from '../../../src/events/index.js';

const secret = 'k+e y/%&"7f3a9c';
const events = (...watchers: readonly Watcher[]) => new Events('run-1', createRedactor([secret]), watchers);
const page = { collection: 'leads', at: undefined, number: 2, rows: 30, pages: 2, read: 60 };
const request = { url: 'http://a/api/leads?page=2', collection: 'leads', page: 2, purpose: 'page', attempt: 1 } as const;

/** A watcher of requests that writes down what it gets. */
function notes() {
  const told: string[] = [];
  const note = (phase: string) => (event: OperationEvent<'request'>) => {
    told.push(`${phase} ${event.status ?? '-'} ${event.error?.code ?? '-'} ${event.aborted ?? false}`);
  };
  return { told, watcher: { request: { start: note('start'), error: note('error'), asyncEnd: note('end') } } };
}

describe('events', () => {
  test('while nobody listens no event is made', async () => {
    const never = () => {
      throw new Error('somebody asked for facts');
    };
    const silent = events();
    silent.emit('page', never);
    expect(await silent.during('commit', never, () => Promise.resolve(7))).toBe(7);
    expect(await lastValueFrom(silent.during$('request', never, of(8), never))).toBe(8);
  });

  test('a moment goes to the watchers of its run and to its channel, frozen, with the id of the run', () => {
    const got: object[] = [];
    const listener = (event: unknown) => void got.push(event as object);
    subscribe('leadstream:page', listener);
    events({ page: (event) => got.push(event) }).emit('page', () => page);
    unsubscribe('leadstream:page', listener);
    expect(got).toEqual([
      { run: 'run-1', ...page },
      { run: 'run-1', ...page },
    ]);
    expect(got.every((event) => Object.isFrozen(event))).toBe(true);
  });

  describe('an operation', () => {
    test('that is unsubscribed is reported as aborted', () => {
      const { told, watcher } = notes();
      events(watcher)
        .during$('request', () => request, new Subject())
        .subscribe()
        .unsubscribe();
      expect(told).toEqual(['start - - false', 'end - - true']);
    });

    test('tells nothing of a failure that is not of leadstream but its class', async () => {
      const got: unknown[] = [];
      const watched = events({ commit: { error: ({ error }) => got.push(error) } });
      const commit = () => Promise.reject(new RangeError('jane@example.com is out of range'));
      const failing = watched.during('commit', () => ({ outputs: ['/a'], actions: 1 }), commit);
      await expect(failing).rejects.toThrow('jane@example.com');
      expect(got).toEqual([{ code: 'UNKNOWN', message: 'RangeError' }]);
    });

    test('is a tracing channel as Node has them', async () => {
      const told: string[] = [];
      const subscribers = Object.fromEntries(
        ['start', 'end', 'asyncStart', 'asyncEnd', 'error'].map((phase) => [phase, () => told.push(phase)]),
      ) as unknown as Parameters<ReturnType<typeof tracingChannel>['subscribe']>[0];
      tracingChannel('leadstream:commit').subscribe(subscribers);
      const commit = () => Promise.reject(new Error('no'));
      const failing = events().during('commit', () => ({ outputs: [], actions: 0 }), commit);
      await expect(failing).rejects.toThrow('no');
      tracingChannel('leadstream:commit').unsubscribe(subscribers);
      expect(told).toEqual(['start', 'end', 'error', 'asyncStart', 'asyncEnd']);
    });
  });

  test('a watcher of the whole process gets the events of every run, until it ends', () => {
    const runs: string[] = [];
    const end = watch({ page: ({ run }) => runs.push(run) });
    const tell = (id: string) => new Events(id, createRedactor([])).emit('page', () => page);
    ['a', 'b'].forEach(tell);
    end();
    tell('c');
    expect(runs).toEqual(['a', 'b']);
    expect(channel('leadstream:page').hasSubscribers).toBe(false);
  });
});
