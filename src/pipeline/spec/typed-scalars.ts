import type { Path } from './document.js';

/**
 * A value of a file whose scalars have types: `true`, `null` (also where nothing stands) and numbers as JSON spells them, unless they are
 * quoted. All else stays text, like `yes`, `0123`, and numbers of which a digit would be lost.
 *
 * @example
 * typedScalars({ by: '2.5', id: '0123', on: 'true' }, [], () => true); // { by: 2.5, id: '0123', on: true }
 */
export function typedScalars(value: unknown, path: Path, isPlain: (path: Path) => boolean): unknown {
  if (typeof value === 'string') return isPlain(path) ? scalarOf(value) : value;
  if (Array.isArray(value)) return value.map((item, index) => typedScalars(item, [...path, index], isPlain));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, typedScalars(item, [...path, key], isPlain)]));
}

function scalarOf(text: string): unknown {
  if (text === '' || text === 'null' || text === '~') return null;
  if (text === 'true' || text === 'false') return text === 'true';
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(text)) return text;
  const number = Number(text);
  const isWhole = Number.isInteger(number);
  return Number.isFinite(number) && (!isWhole || Number.isSafeInteger(number)) ? number : text;
}
