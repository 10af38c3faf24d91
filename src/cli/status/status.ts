import { printable } from '../../core/index.js';
import type { Pipeline, Watcher } from '../../index.js';
import { realClock, type Clock } from '../clock.js';
import type { Console } from '../console.js';
import type { OutputStream } from '../context.js';
import type { RequestCounts } from '../request-counts.js';
import { Activity, type Snapshot } from './activity.js';
import { statusLine } from './line.js';

/** Shows what a run is doing: a changing line on a terminal, and a message every half minute elsewhere. */
export interface Status {
  /** Watchers to add to the run; empty if nothing is shown. */
  readonly watchers: readonly Watcher[];
  /** Whether there is a changing line, which counts retries by itself. */
  readonly isLive: boolean;
  /** Clears the line to make space for the next message. The next frame draws it again. */
  clear(): void;
  /** Clears it for good. */
  end(): void;
}

/** Milliseconds between frames, and between messages. */
const [frameMs, heartbeatMs] = [125, 30_000];

/** Where it is shown. */
export interface StatusPlace {
  readonly console: Pick<Console, 'level' | 'format' | 'event'>;
  readonly stderr: OutputStream;
  readonly stdout: Pick<OutputStream, 'isTTY'>;
  readonly clock?: Clock | undefined;
  readonly counts: RequestCounts;
}

/**
 * Creates the status and starts it at once. It shows nothing with `--quiet`, or if rows are printed on the same terminal, which is progress enough.
 *
 * @param pipeline Supplies its name, and whether it prints rows.
 */
export function createStatus(
  { name, plan }: Pick<Pipeline, 'name' | 'plan'>,
  { console, stderr, stdout, clock = realClock, counts }: StatusPlace,
): Status {
  const isPrinted = stdout.isTTY === true && plan.sinks.some((sink) => sink.name === 'stdout');
  if (console.level === 'error' || console.level === 'warn' || isPrinted) return silent;
  const activity = new Activity(clock, counts);
  if (stderr.isTTY && console.format === 'text') return liveStatus(name, activity, stderr, clock);
  const beat = () => {
    const snapshot = activity.snapshot();
    console.event('run.progress', { pipeline: name, ...factsOf(snapshot) }, statusLine(name, snapshot));
  };
  return { watchers: [activity.watcher], isLive: false, clear: () => {}, end: clock.every(heartbeatMs, beat) };
}

const silent: Status = { watchers: [], isLive: false, clear: () => {}, end: () => {} };

/** Does not hide the cursor: a hidden cursor must be shown again, and the process can be killed before that. */
function liveStatus(name: string, activity: Activity, stderr: OutputStream, clock: Clock): Status {
  let shown = '';
  const draw = () => {
    // Some terminals move on to the next line after the last column.
    const line = printable(statusLine(name, activity.snapshot(), (stderr.columns ?? 80) - 1));
    if (line === shown) return;
    // One write per frame overwrites the last one and clears the rest of the line, so nothing flickers.
    stderr.write(`\r${line}\u001b[K`);
    shown = line;
  };
  const clear = () => {
    if (shown !== '') stderr.write('\r\u001b[K');
    shown = '';
  };
  draw();
  const stop = clock.every(frameMs, draw);
  return {
    watchers: [activity.watcher],
    isLive: true,
    clear,
    end: () => {
      stop();
      clear();
    },
  };
}

function factsOf({ doing, list, bytes, retries }: Snapshot): object {
  return {
    doing,
    ...(list && {
      collection: list.collection,
      pages: list.pages,
      rows: list.rows,
      ...(list.expected !== undefined && { expected: list.expected }),
      ...(list.rowsPerSecond !== undefined && { rowsPerSecond: Math.round(list.rowsPerSecond) }),
      ...(list.secondsLeft !== undefined && { secondsLeft: Math.ceil(list.secondsLeft) }),
    }),
    bytes,
    retries,
  };
}
