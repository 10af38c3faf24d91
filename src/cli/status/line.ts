import { amount, amountOf } from '../../core/index.js';
import type { ListProgress, Snapshot } from './activity.js';

/**
 * Describes what a run is doing in one line of at most `width` characters. If there is too little space, it leaves out first the name of the pipeline, then the
 * bytes, then what the list is read for.
 *
 * @example
 * // nightly: reading leads, 120,000 rows (40%), 34.1 MB, 12 retries, 2,400 rows/s, 1:15 left
 */
export function statusLine(name: string, snapshot: Snapshot, width = Infinity): string {
  const { doing, list, bytes, retries, wait } = snapshot;
  const read = list ? rowsOf(list) : [];
  const size = bytes > 0 ? [sizeOf(bytes)] : [];
  const again = retries > 0 ? [amountOf(retries, 'retry', 'retries')] : [];
  const pace = wait === undefined ? (list ? paceOf(list) : []) : [`${wait.until} in ${wait.seconds} s`];
  const rest = [...again, ...pace];
  const forms = [
    [`${name}: ${doing}`, ...read, ...size, ...rest],
    [doing, ...read, ...size, ...rest],
    [doing, ...read, ...rest],
    [list?.collection ?? doing, ...read, ...rest],
    [list?.collection ?? doing, ...read, ...pace],
  ].map((parts) => parts.join(', '));
  return forms.find((form) => form.length <= width) ?? (forms.at(-1) ?? '').slice(0, width);
}

function rowsOf({ rows, expected }: ListProgress): readonly string[] {
  const isKnown = expected !== undefined && expected > 0 && rows > 0 && rows <= expected;
  return [`${amountOf(rows, 'row')}${isKnown ? ` (${Math.floor((100 * rows) / expected)}%)` : ''}`];
}

function paceOf({ rowsPerSecond, secondsLeft }: ListProgress): readonly string[] {
  return [
    ...(rowsPerSecond === undefined ? [] : [`${amount(Math.round(rowsPerSecond))} rows/s`]),
    ...(secondsLeft === undefined ? [] : [`${lengthOf(secondsLeft)} left`]),
  ];
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
