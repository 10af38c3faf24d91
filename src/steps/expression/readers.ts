import { parserOf, type DeclaredType } from '../../core/index.js';
import { readsExactly } from './exact.js';

/** The function that reads the text of a column, by its declared type. */
export const readers: Readonly<Record<DeclaredType, string>> = {
  text: 'num',
  integer: 'num',
  decimal: 'num',
  timestamp: 'epoch',
  date: 'date',
  flag: 'flag',
};

/** Returns how to write a text that is compared with the column once that is read; `undefined` if unknown. */
export function beside(type: DeclaredType, text: string): string | undefined {
  if (type === 'integer' || type === 'decimal') return typeof parserOf('decimal')(text) === 'number' ? String(Number(text)) : undefined;
  const day = text.replace(/^(\d{4})[-/.](\d\d)[-/.](\d\d)$/, '$1$2$3');
  if (/^\d{8}$/.test(day) && parserOf('date')(day)) return `date('${day}')`;
  if (readsExactly('timestamp', text)) return `timestamp('${text}')`;
  return isSeconds(text) ? `epoch('${text}')` : undefined;
}

/** Whether a number may be seconds since 1970: 0, or a time from 1973 to 2286. Other numbers are years, days or milliseconds. */
function isSeconds(text: string): boolean {
  return text === '0' || (/^\d{9,10}$/.test(text) && !text.startsWith('0'));
}
