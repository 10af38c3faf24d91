import { amount, amountOf, printable } from '../core/index.js';
import type { Pipeline } from '../index.js';
import type { Console } from './console.js';
import type { OutputStream } from './context.js';
import type { Observed } from './observed.js';

/** Shows what a run is doing: a changing line on a terminal, and a message every half minute elsewhere. */
export interface Status {
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
}

/**
 * Starts to show the status of a run. It shows nothing with `--quiet`, or if rows are printed on the same terminal, which is progress enough.
 *
 * @param pipeline Supplies its name, and whether it prints rows.
 */
export function startStatus({ name, plan }: Pick<Pipeline, 'name' | 'plan'>, observed: Observed, place: StatusPlace): Status {
  const { console, stderr, stdout } = place;
  const isPrinted = stdout.isTTY === true && plan.sinks.some((sink) => sink.name === 'stdout');
  if (console.level === 'error' || console.level === 'warn' || isPrinted) return { isLive: false, clear: () => {}, end: () => {} };
  if (stderr.isTTY && console.format === 'text') return liveStatus(name, observed, stderr);
  const timer = setInterval(() => {
    const { stage: doing, rows, expected } = observed.current;
    const { bytes, retries } = observed.requests;
    const facts = { pipeline: name, doing, rows, expected, bytes, retries: sum(retries) };
    console.event('run.progress', facts, `${name}: ${statusLine(observed)}`);
  }, heartbeatMs).unref();
  return { isLive: false, clear: () => {}, end: () => clearInterval(timer) };
}

/** Does not hide the cursor: a hidden cursor must be shown again, and the process can be killed before that. */
function liveStatus(name: string, observed: Observed, stderr: OutputStream): Status {
  let shown = '';
  const show = (line: string) => {
    // One write per frame overwrites the last one and clears the rest of the line, so nothing flickers.
    if (line !== shown) stderr.write(`\r${line}\u001b[K`);
    shown = line;
  };
  // Some terminals move on to the next line after the last column.
  const draw = () => show(printable(`${name}: ${statusLine(observed)}`).slice(0, (stderr.columns ?? 80) - 1));
  draw();
  const timer = setInterval(draw, frameMs).unref();
  const end = () => {
    clearInterval(timer);
    show('');
  };
  return { isLive: true, clear: () => show(''), end };
}

/**
 * Describes what a run is doing in one line, the most important first.
 *
 * @example
 * // reading leads, 120,000 rows (40%), 1:15 left, 2,400 rows/s, 34.1 MB, 12 retries
 */
export function statusLine({ current, pause, requests }: Observed): string {
  const { stage, rows, expected = 0, forMs } = current;
  const retries = sum(requests.retries);
  const parts = [
    stage,
    ...(rows === undefined
      ? []
      : [`${amountOf(rows, 'row')}${rows > 0 && rows <= expected ? ` (${Math.floor((100 * rows) / expected)}%)` : ''}`]),
    ...(pause ? [`${pause.until} in ${Math.ceil(pause.ms / 1000)} s`] : paceOf(rows ?? 0, expected, forMs / 1000)),
    ...(requests.bytes > 0 ? [sizeOf(requests.bytes)] : []),
    ...(retries > 0 ? [amountOf(retries, 'retry', 'retries')] : []),
  ];
  return parts.join(', ');
}

/** @param seconds Time since the first request for the list; too little to measure a rate below half a second. */
function paceOf(rows: number, expected: number, seconds: number): readonly string[] {
  if (rows === 0 || seconds < 0.5) return [];
  const perSecond = rows / seconds;
  return [...(expected > rows ? [`${lengthOf((expected - rows) / perSecond)} left`] : []), `${amount(Math.round(perSecond))} rows/s`];
}

/** Formats a length of time as `0:07`, `1:15` or `2:03:40`. */
export function lengthOf(seconds: number): string {
  const whole = Math.ceil(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const rest = String(whole % 60).padStart(2, '0');
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`;
}

const units = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const;

/** Formats a number of bytes for people, in decimal units: `812 bytes`, `34.1 MB`. */
export function sizeOf(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  return power === 0 ? amountOf(bytes, 'byte') : `${(bytes / 1000 ** power).toFixed(1)} ${units[power]}`;
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
