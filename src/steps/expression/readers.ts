import { parserOf, type DeclaredType } from '../../core/index.js';
import { readsExactly } from './exact.js';

/** What reads the text of a column, by what it declares to be. */
export const readers: Readonly<Record<DeclaredType, string>> = {
  text: 'num',
  integer: 'num',
  decimal: 'num',
  timestamp: 'epoch',
  date: 'date',
  flag: 'flag',
};

/** How a text that a column is compared with is written beside the reader of the column; `undefined` when it cannot be told. */
export function beside(type: DeclaredType, text: string): string | undefined {
  if (type === 'integer' || type === 'decimal') return typeof parserOf('decimal')(text) === 'number' ? String(Number(text)) : undefined;
  const day = text.replace(/^(\d{4})[-/.](\d\d)[-/.](\d\d)$/, '$1$2$3');
  if (/^\d{8}$/.test(day) && parserOf('date')(day)) return `date('${day}')`;
  if (readsExactly('timestamp', text)) return `timestamp('${text}')`;
  return isSeconds(text) ? `epoch('${text}')` : undefined;
}

/** Whether a number can be meant as seconds since 1970: 0, or from 1973 to 2286. Other ones are years, days or milliseconds. */
function isSeconds(text: string): boolean {
  return text === '0' || (/^\d{9,10}$/.test(text) && !text.startsWith('0'));
}
