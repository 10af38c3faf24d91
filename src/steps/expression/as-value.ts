import type { DeclaredType, Value, ValueOf } from '../../core/index.js';
import { ExpressionFault } from './fault.js';

/** Converts a result to a value of a column's type. For `text`, which also stands for an open type, any scalar becomes its text. */
export function asValue(value: unknown, type: DeclaredType): Value {
  if (value === null || value === undefined) return null;
  if (type === 'text') {
    if (typeof value === 'string') return value;
    if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value);
    if (isInstant(value)) return value.toISOString();
    throw new ExpressionFault('the result is not text, a number, a flag or an instant');
  }
  if (fits[type](value)) return value;
  throw new ExpressionFault('the result does not fit the type of its column');
}

const fits: { readonly [T in Exclude<DeclaredType, 'text'>]: (value: unknown) => value is ValueOf[T] } = {
  flag: (value) => typeof value === 'boolean',
  integer: (value): value is bigint => typeof value === 'bigint' && BigInt.asIntN(64, value) === value,
  decimal: (value) => typeof value === 'number',
  timestamp: isInstant,
  date: isInstant,
};

/** Whether a value is a valid instant: sums of instants can leave the range of dates. */
function isInstant(value: unknown): value is Date {
  return value instanceof Date && !Number.isNaN(value.getTime());
}
