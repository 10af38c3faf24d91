import { printable } from '../../core/index.js';
import type { Pipeline, Watcher } from '../../index.js';
import { realClock, type Clock } from '../clock.js';
import type { Console } from '../console.js';
import type { OutputStream } from '../context.js';
import type { RequestCounts } from '../request-counts.js';
import { Activity, type Snapshot } from './activity.js';
import { statusLine } from './line.js';

/** Shows what a run is doing: a line that changes on a terminal, and a message every half minute elsewhere. */
export interface Status {
  /** Take the events of the run; none where nothing is shown. */
  readonly watchers: readonly Watcher[];
  /** Whether there is a line that changes, which counts retries by itself. */
  readonly isLive: boolean;
  /** Clears the line, so that the next message stands alone; it comes again with the next frame. */
  clear(): void;
  /** Clears it for good. */
  end(): void;
}

/** Milliseconds from one frame to the next, and from one message to the next. */
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
 * Begins at once. Rows that are printed on the same terminal are progress enough, so there is nothing then, and nothing for `--quiet`.
 *
 * @param pipeline Gives its name, and tells whether it prints rows.
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

/** Without a terminal's help to hide the cursor: what is hidden has to be shown again, and a process can be killed before. */
function liveStatus(name: string, activity: Activity, stderr: OutputStream, clock: Clock): Status {
  let shown = '';
  const draw = () => {
    // In the last column, some terminals go on to the next line.
    const line = printable(statusLine(name, activity.snapshot(), (stderr.columns ?? 80) - 1));
    if (line === shown) return;
    // One write for a frame, which writes over the last one and clears what stands behind it: nothing is empty in between.
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
