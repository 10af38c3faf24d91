import type { MomentEvent, OperationEvent, Watcher } from '../../index.js';
import type { Clock } from '../clock.js';
import type { RequestCounts } from '../request-counts.js';
import { RecentRate } from './recent-rate.js';

/** What a run is doing at a given moment. */
export interface Snapshot {
  /** In words: `opening`, `reading leads`, `reading areacodes for steps[1] join`, `finishing to[0] csv`, `publishing`. */
  readonly doing: string;
  /** The list that is being read; `undefined` before the first and after the last. */
  readonly list: ListProgress | undefined;
  /** Bytes of all answers, after decompression. */
  readonly bytes: number;
  readonly retries: number;
  /** What the run waits for while no request is under way: the next attempt at a request, or the second look at the end of a list. */
  readonly wait: { readonly until: Pause; readonly seconds: number } | undefined;
}

/** What a run can wait for, in words. */
type Pause = 'next attempt' | 'end checked again';

/** How far the reading of a list has got. */
export interface ListProgress {
  readonly collection: string;
  readonly pages: number;
  readonly rows: number;
  /** Rows that the list had in the last run. */
  readonly expected: number | undefined;
  /** Over the last ten seconds; `undefined` until there is something to measure. */
  readonly rowsPerSecond: number | undefined;
  /** Until all expected rows have arrived, at that rate; `undefined` without an expected count, at a standstill, and once more rows have arrived. */
  readonly secondsLeft: number | undefined;
}

interface List {
  readonly event: OperationEvent<'read'>;
  readonly rate: RecentRate;
  pages: number;
  rows: number;
}

/** Follows the events of a run to report what it is doing. */
export class Activity {
  /** The lists that are being read, by the event of their read. */
  readonly #lists = new Map<object, List>();
  #doing = 'opening';
  #inFlight = 0;
  /** What the run waits for, and until when. */
  #waiting: { readonly until: Pause; readonly at: number } = { until: 'next attempt', at: 0 };

  constructor(
    private readonly clock: Clock,
    private readonly counts: RequestCounts,
  ) {}

  readonly watcher: Watcher = {
    read: {
      start: (event) => void this.#lists.set(event, { event, rate: new RecentRate(this.clock.now()), pages: 0, rows: 0 }),
      asyncEnd: (event) => {
        this.#lists.delete(event);
        if (event.at === undefined) this.#doing = 'finishing';
      },
    },
    page: (event) => this.#page(event),
    request: {
      start: () => void (this.#inFlight += 1),
      asyncEnd: () => void (this.#inFlight -= 1),
    },
    retry: ({ delayMs }) => this.#wait('next attempt', delayMs),
    wait: ({ delayMs }) => this.#wait('end checked again', delayMs),
    finish: { start: ({ at }) => void (this.#doing = `finishing ${at}`) },
    commit: { start: () => void (this.#doing = 'publishing') },
  };

  snapshot(): Snapshot {
    const list = this.#shown();
    const { until, at } = this.#waiting;
    const waitMs = this.#inFlight === 0 ? at - this.clock.now() : 0;
    return {
      doing: list ? doingOf(list.event) : this.#doing,
      list: list && this.#progressOf(list),
      bytes: this.counts.bytes,
      retries: this.counts.totalRetries,
      wait: waitMs > 0 ? { until, seconds: Math.ceil(waitMs / 1000) } : undefined,
    };
  }

  #wait(until: Pause, delayMs: number): void {
    this.#waiting = { until, at: this.clock.now() + delayMs };
  }

  /** The list to show. The source of a run waits for the other sides of its joins, so these come first. */
  #shown(): List | undefined {
    const lists = [...this.#lists.values()];
    return lists.find(({ event }) => event.at !== undefined) ?? lists[0];
  }

  #page({ collection, at, pages, read }: MomentEvent<'page'>): void {
    const list = [...this.#lists.values()].find(({ event }) => event.at === at && event.collection === collection);
    if (!list) return;
    list.pages = pages;
    list.rows = read;
    list.rate.add(this.clock.now(), read);
  }

  #progressOf({ event: { collection, expected }, pages, rows, rate }: List): ListProgress {
    const rowsPerSecond = rate.perSecond(this.clock.now());
    const left = (expected ?? 0) - rows;
    const secondsLeft = rows > 0 && left > 0 && rowsPerSecond ? left / rowsPerSecond : undefined;
    return { collection, pages, rows, expected, rowsPerSecond, secondsLeft };
  }
}

function doingOf({ collection, at }: OperationEvent<'read'>): string {
  return at === undefined ? `reading ${collection}` : `reading ${collection} for ${at}`;
}
