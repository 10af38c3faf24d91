import type { Redactor } from '../core/index.js';

/**
 * Returns a copy of facts with credentials removed from its texts; nested values are frozen. Facts are texts, numbers, and lists and objects of these.
 */
export function cleaned<T extends object>(facts: T, redact: Redactor): T {
  return Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, clean(value, redact)])) as T;
}

function clean(value: unknown, redact: Redactor): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return Object.freeze(value.map((item) => clean(item, redact)));
  if (typeof value === 'object' && value !== null) return Object.freeze(cleaned(value, redact));
  return value;
}
