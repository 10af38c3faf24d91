import { afterSpace, ascii, endOfText } from './places.js';

/**
 * Returns the text of a list or record without white space. Numbers and the order of members are preserved; strings are written as
 * `JSON.stringify` does.
 *
 * @returns `undefined` for invalid JSON.
 */
export function compact(json: Buffer, start: number, end: number): string | undefined {
  if (!isJson(json.toString('utf8', start, end))) return undefined;
  const pieces: string[] = [];
  let from = start;
  let at = start;
  while (at < end) {
    const byte = json[at] ?? 0;
    if (byte === ascii.quote) {
      const behind = endOfText(json, at) + 1;
      if (json.subarray(at, behind).includes(ascii.backslash)) {
        pieces.push(json.toString('utf8', from, at), JSON.stringify(JSON.parse(json.toString('utf8', at, behind))));
        from = behind;
      }
      at = behind;
    } else if (byte <= ascii.space) {
      pieces.push(json.toString('utf8', from, at));
      at = from = afterSpace(json, at);
    } else at += 1;
  }
  return pieces.join('') + json.toString('utf8', from, end);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
