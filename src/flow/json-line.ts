import { StepError } from '../core/index.js';
import { given } from '../options/index.js';

/**
 * Serializes a row as a line of JSON. Whole numbers have all their digits at any depth, as in the sink `ndjson`. A field that is
 * `undefined` is left out, an item of a list becomes `null`.
 *
 * @param at Page and row, for messages.
 * @throws {StepError} `E_STEP_VALUE` for a value that JSON cannot represent.
 */
export function lineOf(row: unknown, at: string): string {
  if (row === undefined) throw unfit(at, row);
  return `${jsonOf(row, at, [])}\n`;
}

function membersOf(object: object, at: string, within: readonly object[]): string {
  const inside = nested(object, at, within);
  const members = Object.entries(object).flatMap(([name, value]) =>
    value === undefined ? [] : [`${JSON.stringify(name)}:${jsonOf(value, `${at}, ${name}`, inside)}`],
  );
  return `{${members.join(',')}}`;
}

/**
 * @param within The objects that enclose the value.
 */
function jsonOf(value: unknown, at: string, within: readonly object[]): string {
  if (typeof value === 'bigint') return String(value);
  if (isUnfit(value)) throw unfit(at, value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  const toJson: unknown = Reflect.get(value, 'toJSON');
  if (typeof toJson === 'function') return jsonOf(Reflect.apply(toJson, value, []), at, nested(value, at, within));
  if (Array.isArray(value)) {
    const inside = nested(value, at, within);
    return `[${Array.from(value, (item: unknown, index) => jsonOf(item, `${at}[${index}]`, inside)).join(',')}]`;
  }
  return membersOf(value, at, within);
}

function nested(object: object, at: string, within: readonly object[]): readonly object[] {
  if (within.includes(object)) throw new StepError('E_STEP_VALUE', `${at} contains itself, which JSON cannot represent`);
  return [...within, object];
}

/** Returns whether JSON would lose the content of a value. */
function isUnfit(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  return typeof value === 'function' || typeof value === 'symbol' || [Map, Set, Promise].some((type) => value instanceof type);
}

function unfit(at: string, value: unknown): StepError {
  const what = typeof value === 'object' ? Object.prototype.toString.call(value).slice(8, -1) : given(value).replace(/^a /, '');
  return new StepError('E_STEP_VALUE', `${at}: JSON has no ${what}; convert it first, for example with mapRows`);
}
