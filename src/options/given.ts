/** Describes a value for messages. */
export function given(value: unknown): string {
  if (typeof value === 'string') return value.length > 40 ? 'a text' : `the text '${value}'`;
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}`;
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Promise) return 'a promise, which must be awaited';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  return 'an object';
}
