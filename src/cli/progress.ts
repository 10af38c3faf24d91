import { SingleBar } from 'cli-progress';
import type { Progress } from '../index.js';
import type { Console } from './console.js';

/** Shows how far a run is: a line that moves on a terminal, nothing elsewhere. */
export interface ProgressDisplay {
  show(progress: Progress): void;
  /** Clears the line, so that the next message stands alone. */
  end(): void;
}

/** The service never says how many rows there are, so there is a count and a rate, and no share of a whole. */
export function createProgress(console: Console, label: string, stream: NodeJS.WriteStream = process.stderr): ProgressDisplay {
  if (!stream.isTTY || console.quiet || console.format === 'json') return { show: () => {}, end: () => {} };
  const bar = new SingleBar({
    stream,
    clearOnComplete: true,
    hideCursor: true,
    fps: 8,
    format: `${label} | {rows} rows | page {value} | {rate} rows/s | {duration_formatted}`,
  });
  const started = Date.now();
  bar.start(0, 0, { rows: '0', rate: '0' });
  return {
    show: ({ pages, rows }) => {
      const rate = Math.round((rows * 1000) / Math.max(1, Date.now() - started));
      bar.update(pages, { rows: rows.toLocaleString('en-US'), rate: rate.toLocaleString('en-US') });
    },
    end: () => bar.stop(),
  };
}
