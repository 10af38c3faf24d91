import { parse } from 'fast-csv';
import { pipeline, Readable } from 'node:stream';

/** Parses CSV into records of cells; a blank line has none. The parser's errors quote the content. */
export function csvRecords(texts: AsyncIterable<string>): AsyncIterable<readonly string[]> {
  return pipeline(Readable.from(texts), parse<string[], string[]>({ headers: false }), () => {});
}
