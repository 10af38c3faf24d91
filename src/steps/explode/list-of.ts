import { JsonText, readJson, type JsonItem } from '../../json/index.js';
import { textOf, type Value } from '../../core/index.js';
import { Unfit } from '../../vector/index.js';

/**
 * Returns the elements of a list that is stored as text. `null`, an empty text and white space are lists without elements.
 *
 * @param separator Text between elements. Elements are trimmed, and blank ones left out. Without it the text is a JSON array: strings are returned as
 * they are, other values except `null` as their JSON text, in which no number changes.
 */
export function listOf(value: Value, separator?: string): readonly (string | null)[] | Unfit {
  const text = textOf(value, 'text')?.trim() ?? '';
  if (text === '') return [];
  if (separator === undefined) return arrayOf(text);
  return text
    .split(separator)
    .map((element) => element.trim())
    .filter((element) => element !== '');
}

const noArray = new Unfit('is not a JSON array');

function arrayOf(text: string): readonly (string | null)[] | Unfit {
  // Half a surrogate pair has no encoding in UTF-8.
  if (!text.startsWith('[') || !text.isWellFormed()) return noArray;
  const items = readJson(Buffer.from(text));
  return isList(items) ? items.map(elementOf) : noArray;
}

function isList(items: JsonItem | readonly JsonItem[] | undefined): items is readonly JsonItem[] {
  return Array.isArray(items);
}

function elementOf(item: JsonItem): string | null {
  if (item === null || typeof item === 'string') return item;
  return jsonOf(item);
}

function jsonOf(item: JsonItem): string {
  if (item instanceof JsonText) return item.text;
  if (item === null || typeof item === 'string') return JSON.stringify(item);
  return `{${Object.entries(item)
    .map(([name, value]) => `${JSON.stringify(name)}:${jsonOf(value)}`)
    .join(',')}}`;
}
