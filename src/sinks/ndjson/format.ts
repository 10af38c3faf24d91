import { textOf, type DeclaredType, type Value } from '../../collections/index.js';
import type { OutputColumn } from '../projection.js';
import type { TextFormat } from '../text-sink.js';

/**
 * One JSON object per line, keys in column order. The lines are put together from texts, so whole numbers keep all
 * digits and a column may have any name.
 */
export function ndjsonFormat(columns: readonly OutputColumn[]): TextFormat {
  const keys = columns.map(({ name }, index) => `${index === 0 ? '{' : ','}${JSON.stringify(name)}:`);
  return {
    head: () => '',
    rows: ({ rows, columns: values }) => {
      let text = '';
      for (let row = 0; row < rows; row += 1) {
        for (const [index, { type }] of columns.entries()) {
          text += keys[index] + json(values[index]?.[row] ?? null, type);
        }
        text += '}\n';
      }
      return text;
    },
    tail: () => '',
  };
}

function json(value: Value, type: DeclaredType): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (value instanceof Date) return `"${textOf(value, type)}"`;
  return String(value);
}
