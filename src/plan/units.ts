import { amount, compareShare, schema, shareIn } from '../core/index.js';

const millisecondsPer: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function textForm<T>(form: RegExp, problem: string, read: (text: string) => T) {
  return schema((z) => z.string().regex(form, problem).transform(read));
}

/** A duration such as `500ms`, `60s`, `5m`, `6h` or `7d`, in milliseconds. */
export const duration = textForm(/^\d+(?:\.\d+)?(?:ms|s|m|h|d)$/, 'a duration is written like 500ms, 60s, 5m, 6h or 7d', (text) => {
  return Number.parseFloat(text) * (millisecondsPer[text.replace(/[\d.]/g, '')] ?? 1);
});

/** Returns a duration as files have it, in the largest unit that gives a whole number. */
export function writtenDuration(milliseconds: number): string {
  const [unit, length] = Object.entries(millisecondsPer).findLast(([, each]) => milliseconds % each === 0) ?? ['ms', 1];
  return `${milliseconds / length}${unit}`;
}

/** Pages such as `1-20`, by their place in a list. */
export const pageRange = schema(() =>
  textForm(/^[1-9]\d*-[1-9]\d*$/, 'pages are written like 1-20', (text) => {
    const [first = 1, last = 1] = text.split('-').map(Number);
    return { first, last, text };
  })().refine(({ first, last }) => first <= last, 'the first page must not be after the last'),
);

export const longerThanNothing = schema(() => duration().refine((milliseconds) => milliseconds > 0, 'must be more than 0'));

/** A rate such as `20/s` or `300/m`, in requests per second. */
export const rate = textForm(/^[1-9]\d*\/[smh]$/, 'a rate is written like 20/s, 300/m or 1000/h', (text) => {
  const [count, unit = 's'] = text.split('/');
  return (Number(count) * 1000) / (millisecondsPer[unit] ?? 1000);
});

export type Tolerance = { readonly share: number } | { readonly rows: number };

/** A share such as `1%`, or a count of rows such as `100`. */
export const tolerance = textForm(/^(?:\d+|(?:100|\d{1,2}(?:\.\d+)?)%)$/, 'must be written like 1% or 100', (text): Tolerance => {
  return text.endsWith('%') ? { share: shareIn(text) } : { rows: Number(text) };
});

/** A share without an upper limit, such as `20%` or `150%`; 1 is all. */
export const share = textForm(/^\d+(?:\.\d+)?%$/, 'a share is written like 20%', shareIn);

/** A share of at most `100%`; 1 is all. */
export const part = schema(() => share().refine((share) => share <= 1, 'nothing shrinks by more than 100%'));

export function exceeds(rows: number, allowed: Tolerance, all: number): boolean {
  return 'share' in allowed ? compareShare(rows, allowed.share, all) > 0n : rows > allowed.rows;
}

export function written(allowed: Tolerance): string {
  return 'share' in allowed ? percent(allowed.share, 10) : amount(allowed.rows);
}

export function percent(share: number, decimals = 2): string {
  return `${Number((share * 100).toFixed(decimals))}%`;
}
