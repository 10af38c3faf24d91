import { SingleBar } from 'cli-progress';
import type { Pipeline, Watcher } from '../index.js';
import type { Console } from './console.js';
import type { OutputStream } from './context.js';

/** Shows how far a run is: a line that moves on a terminal, nothing elsewhere. */
export interface ProgressDisplay {
  /** Takes the pages of the run. */
  readonly watcher: Watcher;
  /** Clears the line, so that the next message stands alone; it comes again with the next page. */
  end(): void;
}

/**
 * The service never says how many rows there are, so there is a count and a rate, and no share of a whole. Rows that are printed on a
 * terminal are progress enough.
 *
 * @param pipeline Gives its name, and tells whether it prints rows.
 */
export function createProgress(
  { level, format }: Pick<Console, 'level' | 'format'>,
  { name, plan }: Pick<Pipeline, 'name' | 'plan'>,
  stderr: OutputStream,
  stdout: Pick<OutputStream, 'isTTY'>,
): ProgressDisplay {
  const printed = stdout.isTTY && plan.sinks.some((sink) => sink.name === 'stdout');
  if (!stderr.isTTY || printed || level === 'error' || format === 'json') return { watcher: {}, end: () => {} };
  const bar = new SingleBar({
    stream: stderr,
    clearOnComplete: true,
    hideCursor: true,
    fps: 8,
    format: `${name} | {rows} rows | page {value} | {rate} rows/s | {seconds} s`,
  });
  const started = Date.now();
  return {
    watcher: {
      page: ({ at, pages, read }) => {
        if (at !== undefined) return;
        const seconds = Math.max(1, Date.now() - started) / 1000;
        const shown = { rows: amount(read), rate: amount(read / seconds), seconds: amount(seconds) };
        if (bar.isActive) bar.update(pages, shown);
        else bar.start(0, pages, shown);
      },
    },
    end: () => {
      if (bar.isActive) bar.stop();
    },
  };
}

function amount(count: number): string {
  return Math.round(count).toLocaleString('en-US');
}
