import type { Path } from './document.js';

/**
 * Converts the scalars of a value in a file: `true`, `false`, `null` (also if empty) and numbers in JSON notation, unless they are quoted. Everything else
 * stays text, such as `yes`, `0123`, and numbers that would lose digits.
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

/**
 * Converts unquoted `null` in rows that tests give and expect; all other values there are texts.
 *
 * @param path Path of the tests.
 */
export function nullsInTests(tests: unknown, path: Path, isPlain: (path: Path) => boolean): unknown {
  if (typeof tests === 'string') return tests === 'null' && isOfRow(path) && isPlain(path) ? null : tests;
  if (Array.isArray(tests)) return tests.map((item, index) => nullsInTests(item, [...path, index], isPlain));
  if (typeof tests !== 'object' || tests === null) return tests;
  return Object.fromEntries(Object.entries(tests).map(([key, item]) => [key, nullsInTests(item, [...path, key], isPlain)]));
}

/** Returns whether a path is in a row: under `tests[0].given.leads[0]`, `tests[0].expect.rows[0]` or `tests[0].expect.files.name.rows[0]`. */
function isOfRow([, , part, of, name, rows]: Path): boolean {
  return part === 'given' || (part === 'expect' && (of === 'rows' || (of === 'files' && name !== undefined && rows === 'rows')));
}
