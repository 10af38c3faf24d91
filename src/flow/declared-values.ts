import { declaredTypes, sensitivities, type DeclaredType, type Value } from '../core/index.js';
import { check, object, oneOf, type Check } from '../options/index.js';
import { isPromise } from './row-function.js';

const type = oneOf(declaredTypes);
const detailed = object({ type, sensitivity: oneOf(sensitivities) }, ['type']);
const map = check("a map of names to types, like { euro: 'decimal' }", isPlain);
const namePattern = /^(?!__proto__$)[a-z_][a-z0-9_]*$/;

/** Checks for columns by name, as declared for functions that create them. */
export const declaredColumns: Check = {
  wants: map.wants,
  faults: (value, place) => {
    const wrong = map.faults(value, place);
    if (wrong.length > 0 || !isRecord(value)) return wrong;
    return Object.entries(value).flatMap(([name, one]) => (isRecord(one) ? detailed : type).faults(one, `${place}.${name}`));
  },
};

/** Checks for columns whose names nothing else validates. */
export const namedColumns: Check = {
  wants: map.wants,
  faults: (value, place) => {
    const wrong = declaredColumns.faults(value, place);
    if (wrong.length > 0 || !isRecord(value)) return wrong;
    if (Object.keys(value).length === 0) return [{ place, message: 'must name at least one column', value }];
    const unfit = Object.keys(value).filter((name) => !namePattern.test(name));
    return unfit.map((name) => ({ place, message: `a column name may contain only a-z, 0-9 and _, unlike '${name}'`, value: name }));
  },
};

/** Describes why a value does not fit a declared type, as text to follow `the function`. */
export function wrongValue(name: string, type: DeclaredType, value: unknown): string | undefined {
  if (value === null || value === undefined || holds[type](value as Value)) return undefined;
  return `returned ${kindOf(value)} in the field '${name}'`;
}

/** Describes the kind of a value without revealing it; it may be personal. */
export function kindOf(value: unknown): string {
  if (isPromise(value)) return 'a promise';
  if (value === null || value === undefined) return String(value);
  if (value instanceof Date) return 'a Date';
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  if (typeof value === 'object') return Array.isArray(value) ? 'a list' : 'an object';
  return typeof value === 'string' ? 'a text' : `a ${typeof value}`;
}

/** The JavaScript values of each declared type. */
export const kinds: Readonly<Record<DeclaredType, string>> = {
  text: 'a string',
  flag: 'a boolean',
  integer: 'a bigint of 64 bits',
  decimal: 'a finite number',
  timestamp: 'a valid Date',
  date: 'a Date at midnight UTC',
};

const isInstant = (value: Value) => value instanceof Date && !Number.isNaN(value.getTime());

/** Whether a value has a declared type. */
const holds: { readonly [T in DeclaredType]: (value: Value) => boolean } = {
  text: (value) => typeof value === 'string',
  flag: (value) => typeof value === 'boolean',
  integer: (value) => typeof value === 'bigint' && BigInt.asIntN(64, value) === value,
  decimal: (value) => typeof value === 'number' && Number.isFinite(value),
  timestamp: isInstant,
  date: (value) => value instanceof Date && value.getTime() % 86_400_000 === 0,
};

/** Returns whether a value is a plain object: a `Map` and a promise have no own keys to check. */
export function isPlain(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || (isRecord(prototype) && Object.getPrototypeOf(prototype) === null);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
